"""Modules that every other package uses: problems, state, content, locations, redaction."""
