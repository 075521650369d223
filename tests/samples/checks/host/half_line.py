"""Writes half an event and ends."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os

    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b'{"event": "finding", "id": "host.half')
        except OSError:
            continue
    os._exit(0)
