"""Crashes after it says that it may open no more files."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os
    import sys

    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
    print("Too many open files", file=sys.stderr, flush=True)
    os.abort()
