"""The parts of lessons, read from Markdown and YAML. Nothing here runs a block."""
