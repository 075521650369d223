"""The program or its supervisor is killed: no process of ours remains, and no state is lost.

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
from pathlib import Path

import pytest

from tests.support.kills import KINDS, Kills
from tests.support.places import TESTS
from tests.support.processes import HANG_S, processes, until, until_gone
from tests.support.tutor import write_checks
from tpustarter.core import locations

KILLS = 24
APP_KILLS = 9
LONGEST_S = 1.0
"""Of the pause before a kill, counted from the start or from the first process of a probe."""
DRIVE = [sys.executable, str(TESTS / "support" / "drive.py"), str(TESTS / "samples" / "checks")]
HANGS = b"about to sleep"
"""Printed by a sample that then hangs."""
PROGRAM = [sys.executable, "-I", "-m", "tpustarter"]
COMMANDS = (
    [*DRIVE, "/", "-", "-", "check", "host.passes", "host.hangs", "--save"],
    [*DRIVE, "/", "-", "-", "check", "host.ignores_term"],
    [*DRIVE, "/", "-", "-", "check", "host.leaves_child", "host.floods", "--save"],
    [*PROGRAM, "check", "host.*", "--save", "--json"],
    [*PROGRAM, "learn", "start/what-this-machine-is", "--run"],
    [*PROGRAM, "learn", "jax/first-arrays", "--run"],
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says which processes are")


def start(words: list[str], home: Path) -> subprocess.Popen[bytes]:
    """Start the program with a state folder of its own, by which its processes are known."""
    env = {**os.environ, "TPUSTARTER_HOME": str(home)}
    return subprocess.Popen(
        words,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def test_a_kill_at_any_moment_leaves_nothing_behind(tmp_path: Path) -> None:
    """SIGKILL of the program: its processes end, and every file of state is whole."""
    seed = int(os.environ.get("TPUSTARTER_SEED") or random.randrange(10**6))
    chance, longest_s, probes = random.Random(seed), 0.0, 0
    for number in range(KILLS):
        home, after_s = tmp_path / str(number % 4), chance.uniform(0.0, LONGEST_S)
        words = chance.choice(COMMANDS)
        process = start(words, home)
        if number % 2:  # else it may be anywhere, most often where Python itself starts
            until(
                lambda at=home, process=process: (
                    process.poll() is not None or "supervise" in processes(at).values()
                ),
                "its supervisor",
            )
            probes += "supervise" in processes(home).values()
        time.sleep(after_s)  # a moment of the kill, not a wait: at each of them the same holds
        process.kill()
        process.communicate()
        longest_s = max(longest_s, until_gone(home))
        case = f"TPUSTARTER_SEED={seed}, kill {number} after {after_s:.3f} s of {words[-3:]}"

        for path in home.glob("**/*.json"):
            assert isinstance(json.loads(path.read_text()), dict), f"{path}, {case}"
    done = subprocess.run(
        [*PROGRAM, "learn"],
        env={**os.environ, "TPUSTARTER_HOME": str(tmp_path / "0")},
        capture_output=True,
        check=False,
    )
    assert (0, b"") == (done.returncode, done.stderr), f"TPUSTARTER_SEED={seed}"
    assert probes >= KILLS // 4, f"TPUSTARTER_SEED={seed}: too few met a probe"
    print(f"kills {KILLS}, with a probe {probes}, seed {seed}, left behind 0, {longest_s:.1f} s")


def test_kill_during_app_action_loses_nothing_saved(tmp_path: Path) -> None:
    """A kill while typing, running or answering loses nothing that was saved."""
    seed = int(os.environ.get("TPUSTARTER_SEED") or random.randrange(10**6))
    kills = Kills(tmp_path, locations.state_folder_path(), seed)
    for number in range(APP_KILLS):
        kills.kill(number, KINDS[number % len(KINDS)])

    losses = kills.losses()
    assert not losses, "\n".join([f"TPUSTARTER_SEED={seed}", *losses])


def running(home: Path, check: str) -> tuple[subprocess.Popen[bytes], int]:
    """Start a check that never ends, and return it with its supervisor once the check hangs."""
    checks = write_checks(home / "checks", "hangs", "ignores_term")  # without their short time-outs
    drive = [*DRIVE[:-1], str(checks), "/", "-", "-"]
    process = start([*drive, "check", check], home)
    until(lambda: HANGS in b"".join(log.read_bytes() for log in home.glob("**/probe-*.log")))
    [supervisor] = [pid for pid, kind in processes(home).items() if kind == "supervise"]
    return process, supervisor


@pytest.mark.parametrize("check", ["host.hangs", "host.ignores_term"])
@pytest.mark.parametrize("stopped", ["supervise", "child", "nobody"])
def test_a_term_ends_the_program_and_its_processes(
    check: str, stopped: str, tmp_path: Path
) -> None:
    """SIGTERM ends the program and its processes, even one that is stopped."""
    process, _ = running(tmp_path, check)
    for pid, kind in processes(tmp_path).items():
        if kind == stopped:
            os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    process.terminate()
    _, stderr = process.communicate(timeout=HANG_S)
    print(f"ended {time.monotonic() - began:.1f} s after a TERM")

    assert 143 == process.returncode
    assert b"kernel" not in stderr
    assert {} == processes(tmp_path)


def test_stopped_supervisor_acts_when_continued(tmp_path: Path) -> None:
    """The one exception that README names: nobody is left to act, until somebody lets it go on."""
    process, supervisor = running(tmp_path, "host.hangs")
    os.kill(supervisor, signal.SIGSTOP)
    process.kill()
    process.communicate()
    assert {"supervise", "child"} == set(processes(tmp_path).values())
    os.kill(supervisor, signal.SIGCONT)

    until_gone(tmp_path)
