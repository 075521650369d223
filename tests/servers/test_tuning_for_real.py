"""Set-up of this very machine: its kernel, its files and its packages, changed and put back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tpustarter.machine import machine
from tpustarter.setup.settings import HUGE_PAGES, LOGS, SETTINGS, TCMALLOC

FILES = ("/etc/tmpfiles.d/tpustarter.conf", "/etc/security/limits.d/tpustarter.conf")
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or not os.access(HUGE_PAGES, os.W_OK)
    or not os.access("/usr/bin/apt-get", os.X_OK)
    or any(Path(path).exists() for path in (*FILES, TCMALLOC)),
    reason="This changes the machine as root, which has to be Debian with a kernel that takes the "
    "setting of huge pages, and where nothing of this was set up before.",
)


def tuning(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `tpustarter setup tuning` to its end."""
    return subprocess.run([sys.executable, "-m", "tpustarter", "setup", "tuning", *words],
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip


def listing() -> list[str]:
    """Return what the set-up may change, as it is now."""
    logs = Path(LOGS)
    files = [path for path in (*FILES, TCMALLOC) if Path(path).exists()]
    mode = [oct(logs.stat().st_mode)] if logs.exists() else []
    return [Path(HUGE_PAGES).read_text(), *mode, *files]


def states() -> dict[str, str]:
    """Return the state of each step."""
    steps = json.loads(tuning("--json").stdout)["steps"]
    return {step["id"]: step["state"] for step in steps}


@pytest.fixture(autouse=True)
def _put_back() -> object:
    """Put everything back, whatever a test has left."""
    Path(LOGS).mkdir(exist_ok=True)
    mode = Path(LOGS).stat().st_mode
    Path(HUGE_PAGES).write_text("madvise")
    Path(LOGS).chmod(0o755)
    yield
    tuning("--undo", "--yes", "--root")
    Path(LOGS).chmod(mode & 0o7777)


def test_it_is_set_for_real_once_and_put_back() -> None:
    """The kernel and the files say so, a second run changes nothing, and undo leaves no trace."""
    before = listing()
    asked = tuning("--yes")
    assert (3, before) == (asked.returncode, listing())
    done = tuning("--yes", "--root")
    after = listing()

    assert done.returncode in (0, 3), done.stdout + done.stderr  # 3: no systemd, in a container
    assert after[0].startswith("[always]")
    assert TCMALLOC in after
    seen = SETTINGS["logs"](machine.Machine())
    assert seen is not None
    assert "done" == seen.state
    assert {"done"} == {one for name, one in states().items() if name != "after-restart"}
    again = tuning("--yes", "--root")
    assert not [line for line in again.stdout.splitlines() if line.startswith("run ")]
    assert after == listing()
    refused = tuning("--undo", "--yes")
    assert (3, True) == (refused.returncode, "needs root" in refused.stderr)
    undone = tuning("--undo", "--yes", "--root")
    assert 0 == undone.returncode, undone.stdout + undone.stderr
    assert before == listing()


def test_killed_in_the_middle_it_goes_on_and_can_be_put_back() -> None:
    """What was done stays, the next run does the rest, and undo knows of both."""
    before = listing()
    words = [sys.executable, "-m", "tpustarter", "setup", "tuning", "--yes", "--root"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("run     logs"):
                process.send_signal(signal.SIGKILL)
    time.sleep(1)  # what ran at that moment has a second to end
    assert Path(HUGE_PAGES).read_text().startswith("[always]")
    assert "todo" in states().values()
    assert tuning("--yes", "--root").returncode in (0, 3)
    assert 0 == tuning("--undo", "--yes", "--root").returncode
    assert before == listing()
