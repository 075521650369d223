"""Set-up of this very machine: its kernel, its files and its packages, changed and put back."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.checking.test_runner import until_ended
from tests.support import sandbox
from tests.support.processes import HANG_S
from tpustarter.core import locations
from tpustarter.machine import machine
from tpustarter.setup.machine.machine_settings import HUGE_PAGES, LOGS, SETTINGS, TCMALLOC

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
    return subprocess.run(
        [sys.executable, "-m", "tpustarter", "setup", "tuning", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def listing() -> list[str]:
    """Return the current state of what the set-up may change."""
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


def test_tuning_is_applied_once_and_undone() -> None:
    """Tuning is applied once, a second run changes nothing, and undo leaves no trace."""
    before = listing()
    blocked = {name for name, one in states().items() if one == "blocked"}
    assert blocked <= {"after-restart", "locked-memory"}  # what a container may keep from root
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
    assert {"done"} == {one for name, one in states().items() if name not in blocked}
    again = tuning("--yes", "--root")
    assert not [line for line in again.stdout.splitlines() if line.startswith("run ")]
    assert after == listing()
    refused = tuning("--undo", "--yes")
    assert (3, True) == (refused.returncode, "needs root" in refused.stderr)
    undone = tuning("--undo", "--yes", "--root")
    assert 0 == undone.returncode, undone.stdout + undone.stderr
    assert before == listing()


def test_killed_tuning_continues_and_can_be_undone() -> None:
    """After a killed tuning, the next run does the remaining steps and undo reverts all."""
    before = listing()
    words = [sys.executable, "-m", "tpustarter", "setup", "tuning", "--yes", "--root"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("run     logs"):
                process.send_signal(signal.SIGKILL)
    until_ended(str(locations.make_state_folder()))  # what ran at that moment
    assert Path(HUGE_PAGES).read_text().startswith("[always]")
    assert "todo" in states().values()
    assert tuning("--yes", "--root").returncode in (0, 3)
    assert 0 == tuning("--undo", "--yes", "--root").returncode
    assert before == listing()


def lines_of(step_id: str) -> str:
    """Return the text of the file that a step writes."""
    steps = json.loads(tuning("--json").stdout)["steps"]
    (lines,) = [step["writes"] for step in steps if step["id"] == step_id]
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.skipif(
    shutil.which("systemd-tmpfiles") is None,
    reason="The program that reads the file at each start of the machine is not installed here.",
)
def test_boot_file_is_applied_by_systemd(tmp_path: Path) -> None:
    """The boot file that systemd applies starts a program that sets huge pages."""
    file = tmp_path / "tpustarter.conf"
    file.write_text(lines_of("after-restart"))
    assert "[madvise]" in Path(HUGE_PAGES).read_text()
    subprocess.run(["systemd-tmpfiles", "--create", str(file)], check=True, timeout=HANG_S)

    assert Path(HUGE_PAGES).read_text().startswith("[always]")


BOOT = """\
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs run /run
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmp /tmp
exec env -i container=lxc PATH="$PATH" /usr/lib/systemd/systemd --system \\
  --unit=systemd-tmpfiles-setup.service
"""
"""A start of the machine, as far as this is concerned: systemd, and its unit that reads files."""
RESTART = f"""\
echo madvise >{HUGE_PAGES}
rm -f /started
unshare --pid --fork --kill-child --mount --uts --ipc --cgroup sh /etc/boot.sh &
system=$!
until [ -e /started ] && ! pgrep -x systemd-tmpfile >/dev/null; do sleep 0.1; done
kill -KILL $system
cat {HUGE_PAGES}
"""
"""The kernel has forgotten its setting, and systemd is its first process."""


@pytest.mark.skipif(
    bool(sandbox.missing()) or not Path("/usr/lib/systemd/systemd").exists(),
    reason="This starts systemd as the first process of a copy of this machine, which takes root, "
    "overlayfs and Debian's package systemd.",
)
def test_huge_pages_survive_restart_until_undo(tmp_path: Path) -> None:
    """Huge pages survive a restart because systemd sets them, until undo removes that."""
    setup = f"TPUSTARTER_HOME=/state {sys.executable} -m tpustarter setup tuning --yes --root"
    with sandbox.sandbox(tmp_path / "copy") as copy:
        copy.run(f"cat >/etc/boot.sh <<'END'\n{BOOT}END")
        copy.run("echo 'f /started' >/etc/tmpfiles.d/zz-started.conf")
        done = copy.run(f"{setup} --only huge-pages --only after-restart")
        assert 0 == done.returncode, done.stdout
        assert copy.run(RESTART).stdout.startswith("[always]")

        assert 0 == copy.run(f"{setup} --undo").returncode
        assert "[madvise]" in copy.run(RESTART).stdout


@pytest.mark.skipif(
    shutil.which("su") is None
    or not re.search(
        r"(?m)^session.*pam_limits\.so", machine.Machine().read_text("/etc/pam.d/su") or ""
    ),
    reason="A login with su does not read the limits here.",
)
def test_next_login_applies_limits_file() -> None:
    """The next login applies a limits file of the same form, here with a lower limit."""
    (line,) = lines_of("locked-memory").splitlines()
    lower = "4096"
    path = Path(FILES[1]).with_name("tpustarter-test.conf")
    before = locked_at_login()
    path.write_text(f"{line.replace('unlimited', lower)}\n")
    try:
        seen = locked_at_login()
    finally:
        path.unlink()

    assert "* - memlock unlimited" == line
    assert (lower, True) == (seen, seen != before)
    assert before == locked_at_login()


def locked_at_login() -> str:
    """Return the limit on locked memory, in KiB, that somebody has who logs in now."""
    words = ["su", "-s", "/bin/sh", "nobody", "-c", "ulimit -l"]
    return subprocess.run(
        words, capture_output=True, text=True, check=True, timeout=HANG_S
    ).stdout.strip()
