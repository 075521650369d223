"""A program's work, counted in its trace before anything is compiled."""
