"""Somebody says yes."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, NoAnswer


def run():
    yield Finding("SAMPLE-HEARD", "answer", "fail", "no", "yes", hint="ask again")
    raise NoAnswer("nobody answers")
