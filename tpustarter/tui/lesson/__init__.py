"""The lesson page: text, blocks, questions and references."""
