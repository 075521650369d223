"""Yields findings without end."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"

from tpustarter.probe.finding import Finding


def run():
    while True:
        yield Finding("SAMPLE-FLOOD", "drop", "ok", 1, 1)
