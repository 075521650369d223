"""Writes the events it finds in a variable, wherever it can, and hangs."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
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
    time.sleep(600)  # hangs until it is stopped
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
