"""Signals at any moment: an exit code of ours, and with `--json` a document on stdout.

The moments are random: the seed is printed, and `TPUSTARTER_SEED` runs the same ones again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.listening import until_it_listens
from tests.support.processes import HANG_S

TRIES = 40
LONGEST_S = 0.5
"""Until about when a check of the host runs here; later signals meet a program that has ended."""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """Start the program with signals as a terminal has them."""
    program = (
        "import os, signal, sys\n"
        "for number in (2, 15, 1): signal.signal(number, signal.SIG_DFL)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'tpustarter', *sys.argv[1:]])"
    )
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says which signals a process follows")
def test_signal_at_any_moment_has_code_and_json() -> None:
    """A signal at any moment gives a documented code, no traceback and a JSON document."""
    seed = int(os.environ.get("TPUSTARTER_SEED") or random.randrange(10**6))
    print(f"TPUSTARTER_SEED={seed}")
    chance = random.Random(seed)
    for _ in range(TRIES):
        number = chance.choice(list(CODES))
        after_s = chance.uniform(0.0, LONGEST_S)
        process = start("check", "host.space", "--json")
        until_it_listens(process)
        time.sleep(after_s)  # a moment of the signal, not a wait: at each the same holds
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=HANG_S)
        case = f"{number.name} after {after_s:.3f} s, seed {seed}: {process.returncode} {stderr!r}"

        assert process.returncode in (CODES[number], 0), case
        assert b"Traceback" not in stderr, case
        assert process.returncode == json.loads(stdout)["exit_code"], case


@pytest.mark.parametrize("number", list(CODES))
def test_signal_after_document_keeps_its_exit_code(number: signal.Signals) -> None:
    """Whoever reads the document and the exit code reads one answer."""
    for _ in range(4):
        process = start("check", "host.space", "--json")
        assert process.stdout is not None
        told = process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=HANG_S)

        assert process.returncode == json.loads(told)["exit_code"]
