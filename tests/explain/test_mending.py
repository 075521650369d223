"""Small fixes: what is offered, what never is, and what is done."""

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
from tpustarter.explain import mending
from tpustarter.explain.ranking import Match
from tpustarter.explain.scanning import Sign
from tpustarter.machine import host

SEEN = Match(
    failure("held", shows=["in use"]),
    "confirmed",
    (Sign("in use", 1, "in use"),),
    here="found pid 1",
)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process of ours that waits."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as started:
        yield started
        started.kill()


def hint(text: str) -> Match:
    """Return a failure that was confirmed here, with this to do."""
    return replace(SEEN, hint=text)


def test_a_process_of_the_users_is_offered_and_ended(process: subprocess.Popen[bytes]) -> None:
    """It says what would be ended."""
    offer = mending.offer(hint(f"end it if it is yours: `kill {process.pid}`"), host.Machine())

    assert offer
    assert ("kill", str(process.pid)) == offer.command
    assert offer.does.startswith(f"ends your process {process.pid}")
    # It is our child, so it stays as a zombie until somebody waits for it.
    assert 0 == subprocess.run(offer.command, check=False).returncode
    assert -15 == process.wait(HANG_S)


def test_no_process_of_anybody_else_is_offered(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    """Nor one that is gone, nor one that this program runs in."""
    folder = tmp_path / "proc" / str(process.pid)
    folder.mkdir(parents=True)
    (folder / "stat").write_text(Path(f"/proc/{process.pid}/stat").read_text())
    (folder / "status").write_text(f"Uid:\t{os.geteuid() + 1}\t1\t1\t1\n")
    of_other = host.Machine(root=tmp_path)

    assert mending.offer(hint(f"`kill {process.pid}`"), of_other) is None
    assert mending.offer(hint("`kill 4194999`"), host.Machine()) is None
    assert mending.offer(hint(f"`kill {os.getppid()}`"), host.Machine()) is None
    assert mending.offer(hint(f"`kill {os.getpid()}`"), host.Machine()) is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('`sudo sh -c "echo 1 > /sys/x"`, again', ("sudo", "sh", "-c", "echo 1 > /sys/x")),
        ("run `/v/bin/python -m pip install 'torch==2.9.*'`",
         ("/v/bin/python", "-m", "pip", "install", "torch==2.9.*")),
        ("run `uv pip install --python /v/bin/python jax`",
         ("uv", "pip", "install", "--python", "/v/bin/python", "jax")),
        ("run `rm -rf /tmp/libtpu_lockfile`", None),
        ("run `kill -9 1`", None),
        ("run `killall python`", None),
        ("run `unterminated 'quote`", None),
        ("wait until the kernel lets go of it", None),
        ("", None),
    ],
)  # fmt: skip
def test_only_what_is_known_to_be_safe_is_offered(
    text: str, command: tuple[str, ...] | None
) -> None:
    """Everything else is for the user to type."""
    offer = mending.offer(hint(text), host.Machine())
    assert command == (offer.command if offer else None)
    assert mending.offer(replace(hint(text), confidence="likely"), host.Machine()) is None


def test_what_is_carried_out_is_waited_for() -> None:
    """The look that follows must not find the process that is just ending; it sleeps till then."""
    shell = f"{sys.executable} -c 'import time; time.sleep(600)' >&2 & echo $!"  # until it is ended
    done = subprocess.run(["sh", "-c", shell], stdout=subprocess.PIPE, check=True)
    pid = int(done.stdout)
    offer = mending.offer(hint(f"`kill {pid}`"), host.Machine())

    assert offer
    assert 0 == mending.carry_out(offer)
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"
