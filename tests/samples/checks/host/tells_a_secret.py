"""Prints what it should not."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    import os

    print("token is", os.environ["SAMPLE_TOKEN"], "at", os.environ["HOME"])
    yield Finding("SAMPLE-TEXT", "home", "fail", os.environ["SAMPLE_TOKEN"], "nothing")
