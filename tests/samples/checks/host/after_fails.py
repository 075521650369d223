"""Comes after one that fails."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"
AFTER = ["host.fails"]

from tpustarter.probe.finding import Finding, compare


def run():
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
