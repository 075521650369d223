"""A lesson's blocks: their code, output and runs."""
