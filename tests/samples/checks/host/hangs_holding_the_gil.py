"""Sleeps for ever in C code that never lets other threads run."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 2
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import ctypes

    print("about to sleep")
    ctypes.PyDLL(None).sleep(600)  # hangs until it is stopped
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
