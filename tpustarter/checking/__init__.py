"""The self-check: what to run here, running it, judging it, and every way to show it."""
