"""The process that runs checks and blocks, called in this one."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
from typing import Any

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

GREEDY = """
import sys, types
sys.path.insert(0, sys.argv[1])
from tpustarter.probe import child
from tpustarter.probe.finding import Finding

def finding():
    pages = int(open("/proc/self/statm").read().split()[1])
    return Finding("HOST-SAMPLE", "pages of memory", "info", pages)

class Greedy:
    def run(self):
        blocks = [b"x" * 100_000 for _ in range(2_000)]
        self.last = b"x" * 100_000  # stays, so that glibc cannot return what is below it
        yield finding()

class Modest:
    def run(self):
        yield finding()

sys.modules |= {"tpustarter.checks.greedy": Greedy(), "tpustarter.checks.modest": Modest()}
sys.exit(child.main(sys.argv[1:]))
"""
"""The child, with a check that frees 200 MB when it ends, and one that tells what is held then."""


def test_watchdog_thread_receives_no_signal(monkeypatch: pytest.MonkeyPatch) -> None:
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


def events_of(program: str, order: list[dict[str, object]]) -> list[dict[str, Any]]:
    """Return the events of a child, once it has carried out all commands and ended well."""
    control, commands = os.pipe()
    told, events = os.pipe()
    os.write(commands, b"".join(json.dumps(one).encode() + b"\n" for one in order))
    os.close(commands)
    # A fork of this process would run JAX's hook where another test has started JAX.
    command = [sys.executable, "-c", program, str(REPOSITORY), str(control), str(events)]
    process = subprocess.Popen(command, pass_fds=(control, events))
    os.close(events)
    with os.fdopen(told, "rb") as lines:
        answers = [json.loads(line) for line in lines]
    os.close(control)
    assert 0 == process.wait(timeout=HANG_S)
    return answers


def test_child_goes_on_after_a_late_finish() -> None:
    """A soak child that ends by itself ignores the later command to finish."""
    answers = events_of(MAIN, [{"do": "finish"}, {"do": "versions"}])
    assert ["versions"] == [answer["event"] for answer in answers]


def test_memory_of_a_check_is_returned() -> None:
    """Memory that glibc keeps after arrays on 64 devices is twice that of one device."""
    order = [
        {"do": "check", "id": name, "framework": "host", "needs": {}, "timeout_s": 60}
        for name in ("greedy", "modest")
    ]
    answers = events_of(GREEDY, order)
    first, second = (one["finding"]["found"] for one in answers if one["event"] == "finding")
    assert second < first / 2
