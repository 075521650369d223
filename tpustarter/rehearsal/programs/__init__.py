"""The programs to rehearse: those of checks, and the user's own."""
