"""Writes the events it finds in a variable, wherever it can, and goes on as if nothing were."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 10
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import compare


def run():
    import os
    import time

    for descriptor in range(3, 64):
        try:
            os.write(descriptor, os.environ.get("FORGED", "hello").encode() + b"\n")
        except OSError:
            continue
    time.sleep(0.3)
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
