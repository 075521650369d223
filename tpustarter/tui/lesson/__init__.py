"""The lesson screen, with its text, blocks, questions and references."""
