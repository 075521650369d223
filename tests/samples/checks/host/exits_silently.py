"""Ends the process with exit code 0."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os

    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
    os._exit(0)
