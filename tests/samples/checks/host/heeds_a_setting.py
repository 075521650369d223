"""One and one are two, where no setting says otherwise."""

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "start/what-this-machine-is"
SOURCE = "https://docs.python.org/3/"

import os
import time

from tpustarter.probe.finding import compare


def run():
    setting = os.environ.get("SAMPLE_SETTING", "")
    if setting == "raise":
        raise TypeError("not with this setting")
    if setting == "crash":
        os._exit(6)
    if setting == "hang":
        time.sleep(600)  # hangs until it is stopped
    yield compare("SAMPLE-SUM", "sum", 3 if setting == "fail" else 2, 2, hint="count again")
