"""Prints markup and escape codes, and finds some."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"


from tpustarter.probe.finding import Finding, compare


def run():
    text = "\x1b[2J\x1b]0;owned\x07[bold red]not markup[/] </testcase> & \x00"
    print(text)
    yield Finding("SAMPLE-TEXT", text, "fail", text, "plain", entity=text, hint=text)
