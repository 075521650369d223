"""Somebody answers."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, NoAnswer


def run():
    yield Finding("SAMPLE-HEARD", "answer", "info", "none", None)
    raise NoAnswer("nobody answers")
