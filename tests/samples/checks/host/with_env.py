"""Sees a variable of its own."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"
ENV = {"SAMPLE_VARIABLE": "here"}

from tpustarter.probe.finding import Finding, compare


def run():
    import os

    yield compare("SAMPLE-ENV", "variable", os.environ.get("SAMPLE_VARIABLE"), "here")
