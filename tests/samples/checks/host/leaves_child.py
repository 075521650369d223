"""Leaves a child that holds every descriptor and ignores TERM."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os
    import signal
    import time

    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        time.sleep(600)  # hangs until it is stopped
        os._exit(0)
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
