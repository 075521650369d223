"""The process that runs checks and blocks, called in this one."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.support.places import REPOSITORY
from tests.support.processes import HANG_S
from tpustarter.probe import child

MAIN = """
import sys
sys.path.insert(0, sys.argv[1])
from tpustarter.probe import child
sys.exit(child.main(sys.argv[1:]))
"""


def test_watchdog_thread_receives_no_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread begins with the mask of the one that starts it, and blocks signals only later."""
    masks: list[set[int]] = []

    def mask(*_: object, **__: object) -> None:
        masks.append({int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())})

    monkeypatch.setattr(faulthandler, "dump_traceback_later", mask)
    control, commands = os.pipe()
    told, events = os.pipe()
    check = {"do": "check", "id": "none.none", "framework": "none", "needs": {}, "timeout_s": 60}
    os.write(commands, json.dumps(check).encode() + b"\n")
    os.close(commands)
    child.main(["child", str(control), str(events)])
    mask()
    os.close(events)
    os.close(told)

    asked = {signal.SIGINT, signal.SIGTERM}
    assert [True, False] == [asked <= blocked for blocked in masks]


def test_child_goes_on_after_a_late_finish() -> None:
    """A soak check may end by itself before the command to finish has come."""
    control, commands = os.pipe()
    told, events = os.pipe()
    order = [{"do": "finish"}, {"do": "versions"}]
    os.write(commands, b"".join(json.dumps(one).encode() + b"\n" for one in order))
    os.close(commands)
    # A fork of this process would run JAX's hook where another test has started JAX.
    command = [sys.executable, "-c", MAIN, str(REPOSITORY), str(control), str(events)]
    process = subprocess.Popen(command, pass_fds=(control, events))
    os.close(events)
    with os.fdopen(told, "rb") as lines:
        answers = [json.loads(line)["event"] for line in lines]
    os.close(control)

    assert [0, ["versions"]] == [process.wait(timeout=HANG_S), answers]
