"""The list of lessons and the search."""
