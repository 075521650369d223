"""A check that cannot be parsed."""

FRAMEWORK = "host"


def run(:
    pass
