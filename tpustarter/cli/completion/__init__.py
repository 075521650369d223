"""`tpustarter completion`: the scripts that complete command lines in bash, zsh and fish."""
