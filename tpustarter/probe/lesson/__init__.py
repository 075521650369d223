"""Running the blocks of lessons inside the Python under test."""
