"""`tpustarter rehearse`: the command, its start page and its closing lines."""
