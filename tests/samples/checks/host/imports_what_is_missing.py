"""Needs a module that is not there."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


import a_module_that_is_not_there  # noqa: F401


def run():
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)
