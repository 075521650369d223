"""Writes 100 MB to stdout."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os

    chunk = b"x" * 79 + b"\n"
    for _ in range(100):
        os.write(1, chunk * 12500)
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
