"""`tpustarter learn`: lessons, exercises, the search and the choice of a library."""
