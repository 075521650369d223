"""The content of lessons, read from Markdown and YAML without running a block."""
