"""The list of lessons, with its search."""
