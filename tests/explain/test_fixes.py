"""Small fixes: which are offered, which never are, and what they do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.failures import failure
from tests.support.processes import HANG_S
from tpustarter.explain import fixes
from tpustarter.explain.failure_ranking import FailureMatch
from tpustarter.explain.log_scanner import FailureSign
from tpustarter.machine import host
from tpustarter.probe.finding import Hint

SEEN = FailureMatch(
    failure("held", shows=["in use"]),
    "confirmed",
    (FailureSign("in use", 1, "in use"),),
    here="found pid 1",
)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process of ours that waits."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def advising(hint: Hint) -> FailureMatch:
    """Return a failure that was confirmed here, with this to do."""
    return replace(SEEN, hint=hint)


def ending(pid: int) -> FailureMatch:
    """Return one for which a process may be ended."""
    return advising(Hint("end it if it is yours", ends=pid))


def test_own_process_is_offered_and_ended(process: subprocess.Popen[bytes]) -> None:
    """Ending the user's own process is offered as a fix, and the offer names the process."""
    offer = fixes.find_fix(ending(process.pid), host.Machine())

    assert offer
    assert ("kill", str(process.pid)) == offer.command
    assert offer.does.startswith(f"ends your process {process.pid}")
    # It is our child, so it stays as a zombie until somebody waits for it.
    assert 0 == subprocess.run(offer.command, check=False).returncode
    assert -15 == process.wait(HANG_S)


def test_foreign_or_ended_process_is_not_offered(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    """No fix ends a process of another user, one that has ended, or this program's own."""
    folder = tmp_path / "proc" / str(process.pid)
    folder.mkdir(parents=True)
    (folder / "stat").write_text(Path(f"/proc/{process.pid}/stat").read_text())
    (folder / "status").write_text(f"Uid:\t{os.geteuid() + 1}\t1\t1\t1\n")
    of_other = host.Machine(root=tmp_path)

    assert fixes.find_fix(ending(process.pid), of_other) is None
    assert fixes.find_fix(ending(4194999), host.Machine()) is None
    assert fixes.find_fix(ending(os.getppid()), host.Machine()) is None
    assert fixes.find_fix(ending(os.getpid()), host.Machine()) is None


@pytest.mark.parametrize(
    ("hint", "command"),
    [
        (
            Hint.run('sudo sh -c "echo 1 > /sys/x"', ", again"),
            ("sudo", "sh", "-c", "echo 1 > /sys/x"),
        ),
        (
            Hint.run("/v/bin/python -m pip install 'torch==2.9.*'"),
            ("/v/bin/python", "-m", "pip", "install", "torch==2.9.*"),
        ),
        (
            Hint.run("uv pip install --python /v/bin/python jax"),
            ("uv", "pip", "install", "--python", "/v/bin/python", "jax"),
        ),
        (Hint.run("rm -rf /tmp/libtpu_lockfile"), None),
        (Hint.run("kill -9 1"), None),
        (Hint.run("kill 1"), None),
        (Hint.run("killall python"), None),
        (Hint.run("unterminated 'quote"), None),
        (Hint("run `sudo reboot`, in words alone"), None),
        (Hint(""), None),
    ],
)
def test_only_safe_fixes_are_offered(hint: Hint, command: tuple[str, ...] | None) -> None:
    """Everything else is for the user to type."""
    offer = fixes.find_fix(advising(hint), host.Machine())
    assert command == (offer.command if offer else None)
    assert fixes.find_fix(replace(advising(hint), confidence="likely"), host.Machine()) is None


def test_fix_waits_until_process_has_ended() -> None:
    """The look that follows must not find the process that is just ending; it sleeps till then."""
    shell = f"{sys.executable} -c 'import time; time.sleep(600)' >&2 & echo $!"  # until it is ended
    done = subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, check=True)
    pid = int(done.stdout)
    offer = fixes.find_fix(ending(pid), host.Machine())

    assert offer
    assert 0 == fixes.run_fix(offer)
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"
