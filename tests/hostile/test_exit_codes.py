"""Each exit code is reached by a command; the reference has the table of them.

A row of `CASES` is a code, what it stands for, and how a process is brought to end with it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tests.support.processes import HANG_S
from tests.support.sessions import drive
from tests.support.tutor import write_checks
from tpustarter.core.problem import ExitCode

MODULE = [sys.executable, "-m", "tpustarter"]
Way = Callable[[Path], int]
"""Brings a process to its end in a folder, and returns its code."""


def _ended(words: list[str], **more: object) -> int:
    more = {"stdout": subprocess.PIPE, **more}
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=HANG_S, check=False, **more
    )
    assert b"Traceback" not in done.stderr
    if done.returncode not in (0, ExitCode.PIPE):
        assert done.stderr.strip(), "a code that is not 0 is explained on stderr"
    return done.returncode


def command(*words: str) -> Way:
    """Run the program; `{}` is the folder of the test."""
    return lambda folder: _ended([*MODULE, *(word.format(folder) for word in words)])


def samples(*words: str) -> Way:
    """Check with the sample checks, on a machine without a TPU."""
    return lambda _: _ended(drive("check", *words))


def machine(*words: str, closed: bool = False, **laid_out: object) -> Way:
    """Check a machine that is laid out, with the checks that ship."""

    def way(folder: Path) -> int:
        made = lay_out(folder, **laid_out)
        for node in (folder / "dev/vfio").iterdir() if closed else ():
            node.chmod(0o600)
        env = {**made.env, "HOME": str(folder)}
        return _ended(drive("check", *words, checks="-", machine=replace(made, env=env)))

    return way


def program(text: str) -> Way:
    """Run the program after some lines of Python have broken it."""
    lines = f"import sys\n{text}\nfrom tpustarter.__main__ import main\nmain()"
    return lambda _: _ended([sys.executable, "-c", lines])


def to_full_disk(*words: str) -> Way:
    """Run the program with a stdout that takes nothing."""

    def way(_: Path) -> int:
        with Path("/dev/full").open("wb") as full:
            return _ended([*MODULE, *words], stdout=full)

    return way


def to_nobody(*words: str) -> Way:
    """Run the program with a stdout whose reader has left."""

    def way(_: Path) -> int:
        with subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE) as reader:
            reader.wait()
            return _ended([*MODULE, *words], stdout=reader.stdin)

    return way


def stopped(number: signal.Signals, *words: str) -> Way:
    """Run a check that hangs, and send a signal once it has reported its finding."""

    def way(folder: Path) -> int:
        checks = write_checks(folder / "checks", "hangs")
        begin = (
            "import os, signal, sys\nfor number in (1, 2, 15): signal.signal(number, "
            "signal.SIG_DFL)\nos.execv(sys.argv[1], sys.argv[1:])"
        )
        with subprocess.Popen(
            [sys.executable, "-c", begin, *drive(*words, checks=checks)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout
            assert any('"finding"' in line for line in process.stdout)
            process.send_signal(number)
            process.stdout.read()
            return process.wait(timeout=HANG_S)

    return way


BROKEN = (
    "from tpustarter.core import content\n"
    "def broken(*_): raise ZeroDivisionError('no')\n"
    "content.read_checks = content.read_lessons = broken\nsys.argv = ['tpustarter', {!r}]"
)
FEW_FILES = (
    "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))\n"
    "sys.argv = ['tpustarter', 'check', 'host.space']"
)
CASES: list[tuple[int, str, Way]] = [
    (0, "checks pass", samples("host.passes")),
    (0, "checks warn", samples("host.warns")),
    (0, "a lesson is printed", command("learn", "jax/precision")),
    (0, "a plan is shown", command("setup", "jax")),
    (0, "the programs are listed", command("rehearse", "--list")),
    (0, "the overview", command()),
    (1, "a check fails", samples("host.fails")),
    (1, "one of several fails", samples("host.fails", "host.passes", "host.raises")),
    (2, "no such option", command("check", "--nope")),
    (2, "no such check", command("check", "host.nope")),
    (2, "no such lesson", command("learn", "no/lesson")),
    (2, "no such profile", command("setup", "nope")),
    (2, "no such file to rehearse", command("rehearse", "{}/nope.py:step", "--tpu", "v5e-8")),
    (2, "no such command", command("nope")),
    (2, "nothing to compare with", samples("host.passes", "--compare", "last")),
    (3, "a check raises", samples("host.raises")),
    (3, "a check's process dies", samples("host.segfaults")),
    (
        3,
        "one host of many",
        machine(
            "jax.devices_visible",
            generation="v5e",
            chips=4,
            env={
                "TPU_WORKER_HOSTNAMES": "a,b,c,d",
                "TPU_WORKER_ID": "0",
                "TPU_ACCELERATOR_TYPE": "v5litepod-16",
            },
        ),
    ),
    (4, "a warning counts", samples("host.warns", "--fail-on", "warn")),
    (5, "nothing applies here", command("check", "host.chips")),
    (69, "no TPU", samples("host.passes", "--require", "tpu")),
    (70, "a bug in `check`", program(BROKEN.format("check"))),
    (70, "a bug in `learn`", program(BROKEN.format("learn"))),
    (71, "a process may open few files", program(FEW_FILES)),
    (74, "a full disk behind stdout", to_full_disk("check", "host.space")),
    (74, "a full disk behind --version", to_full_disk("--version")),
    (74, "a full disk behind --junit", command("check", "host.space", "--junit", "/dev/full")),
    (
        75,
        "somebody uses the TPU",
        machine("jax.devices_visible", generation="v6e", holder={"pid": 4242}),
    ),
    (
        77,
        "no permission on the nodes",
        machine("jax.devices_visible", generation="v6e", uid=1000, closed=True),
    ),
    (78, "a Python that is none", command("check", "--python", "/bin/cat")),
    (78, "a reference that is none", command("check", "--compare", __file__)),
    (126, "a command that is a folder", command("run", "--", "/")),
    (127, "no such command to run", command("run", "--", "{}/nope")),
    (130, "Ctrl-C", stopped(signal.SIGINT, "check", "host.hangs", "--ndjson")),
    (143, "TERM", stopped(signal.SIGTERM, "check", "host.hangs", "--ndjson")),
    (143, "HUP", stopped(signal.SIGHUP, "check", "host.hangs", "--ndjson")),
    (141, "a reader that has left", to_nobody("learn")),
]


def test_every_code_of_the_program_has_a_case() -> None:
    """A code without a case fails, and so does a case of a code that is none."""
    assert {*ExitCode} == {code for code, _, _ in CASES}


@pytest.mark.parametrize(("code", "what", "way"), CASES, ids=[f"{c}-{w}" for c, w, _ in CASES])
def test_each_code_is_reached(code: int, what: str, way: Way, tmp_path: Path) -> None:
    """A real process ends with each exit code, and without a traceback."""
    assert code == way(tmp_path), what
