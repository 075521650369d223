"""The home screen, and the choice of a learning path."""
