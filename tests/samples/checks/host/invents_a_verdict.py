"""Yields a finding with a verdict nobody knows."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"

from tpustarter.probe.finding import Finding


def run():
    yield Finding("SAMPLE-SUM", "sum", "failed", 2, 3)
