"""`tpustarter rehearse`: the command, its first page and its last lines."""
