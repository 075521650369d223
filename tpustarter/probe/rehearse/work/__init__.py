"""The work of a program, counted in its trace before anything is compiled."""
