"""The page of a lesson: its parts, and the reader's place on it."""
