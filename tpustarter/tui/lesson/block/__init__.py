"""The blocks of a lesson: code, output, and runs."""
