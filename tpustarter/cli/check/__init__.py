"""`tpustarter check`: the command, its progress on stderr, and its closing lines."""
