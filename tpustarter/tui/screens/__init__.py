"""One file per screen, named after it."""
