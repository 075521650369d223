"""A lesson's page: its parts and the reader's position."""
