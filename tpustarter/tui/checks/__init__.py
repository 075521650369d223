"""The checks screen, during a run and after it."""
