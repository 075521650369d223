"""A rehearsal as text: progress, memory, verdict."""
