"""Counts until its minutes are over, or until it is told to end."""

FRAMEWORK = "host"
LEVEL = "soak"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 1
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


import time

from tpustarter.probe.finding import Progress, compare
from tpustarter.probe.target import target


def run():
    end = time.monotonic() + 60 * (target().minutes or 0)
    rounds = 0
    while time.monotonic() < end:
        time.sleep(0.1)  # the work of a round
        rounds += 1
        if (yield Progress(f"{rounds} rounds\x1b[2J")):
            break
    yield compare("SAMPLE-ROUNDS", "rounds without a fault", rounds, rounds)
