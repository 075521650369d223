"""Writes what is no event where events go."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os
    import time

    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"hello\n[1, 2]\n")
        except OSError:
            continue
    time.sleep(600)  # hangs until it is stopped
