"""Ignores TERM and sleeps for ever."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 2
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import signal
    import time

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("about to sleep")
    time.sleep(600)  # hangs until it is killed
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
