"""Goes on for an hour, whatever it is told."""

FRAMEWORK = "host"
LEVEL = "soak"
NEEDS = {}
TIMEOUT_S = 2
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


import time

from tpustarter.probe.finding import Progress, compare


def run():
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
    while True:
        time.sleep(0.1)  # the work of a round
        yield Progress("still here")
