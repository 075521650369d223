"""Set-up of terminals and editors for real, in a home of its own: packages come and go as well."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAMS = ("byobu", "mosh-server", "zsh")
LOCK = Path("/tmp/tpustarter-tests-of-packages.lock")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or not os.access("/usr/bin/apt-get", os.X_OK)
    or any(Path("/usr/bin", name).exists() for name in PROGRAMS),
    reason="This installs packages as root, which has to be Debian without byobu, mosh and zsh.",
)

MINE = "set -g base-index 1"
"""What the user's own ~/.tmux.conf says, without a line end."""


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Iterator[Path]:
    """Make a home, and have the packages of this machine to oneself, among these tests."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".tmux.conf").write_text(MINE)
    with LOCK.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield home
        editor(home, "--undo", "--yes", "--root")


def editor(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `tpustarter setup editor` to its end."""
    return subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
        env=environment(home),
    )


def command(*words: str) -> list[str]:
    """Return the words that run it."""
    return [sys.executable, "-m", "tpustarter", "setup", "editor", *words]


def environment(home: Path) -> dict[str, str]:
    """Return an environment with a home and a state of its own."""
    state = str(home.parent / "state")
    return {**os.environ, "HOME": str(home), "TPUSTARTER_HOME": state}


def listing(home: Path) -> list[str]:
    """Return every package with its state, and every file of the home with its content."""
    found = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    files = [
        f"{path.relative_to(home)} {path.read_text() if path.is_file() else ''}"
        for path in sorted(home.rglob("*"))
    ]
    return [*sorted(found.stdout.splitlines()), *files]


def states(home: Path) -> dict[str, str]:
    """Return the state of each step."""
    return {one["id"]: one["state"] for one in json.loads(editor(home, "--json").stdout)["steps"]}


def test_killed_setup_continues_and_undo_restores_all(home: Path) -> None:
    """After a kill during apt-get, the next run continues and undo restores everything."""
    before = listing(home)
    with subprocess.Popen(
        command("--yes", "--root"), stdout=subprocess.PIPE, text=True, env=environment(home)
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Unpacking mosh" in line:
                process.send_signal(signal.SIGKILL)
    middle = states(home)

    assert ("done", "todo") == (middle["byobu"], middle["zsh"])
    assert (home / ".tmux.conf").read_text().startswith(f"{MINE}\n# >>> tpustarter: ")
    done = editor(home, "--yes", "--root")
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "the session `train` outlived its terminal, and keeps 50000 lines" in done.stdout
    assert "mosh: a terminal over UDP port" in done.stdout
    assert "run     byobu" not in done.stdout
    after = listing(home)
    again = editor(home, "--yes", "--root")
    assert (0, False) == (again.returncode, "run     " in again.stdout)
    assert after == listing(home)
    assert {"done", "manual"} == {*states(home).values()}
    undone = editor(home, "--undo", "--yes", "--root")
    assert 0 == undone.returncode, undone.stdout + undone.stderr
    assert before == listing(home)
    assert 3 == editor(home, "--undo").returncode


def test_package_needed_later_stays(home: Path) -> None:
    """A program of the user's depends on it by now, and is not removed with it."""
    made = home.parent / "needs-mosh"
    (made / "DEBIAN").mkdir(parents=True)
    (made / "DEBIAN/control").write_text(
        "Package: needs-mosh\nVersion: 1\nArchitecture: all\nDepends: mosh\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: a test\n"
    )
    subprocess.run(["dpkg-deb", "--build", str(made)], check=True, capture_output=True)
    before = listing(home)
    try:
        assert 0 == editor(home, "--yes", "--root", "--only", "mosh").returncode
        subprocess.run(["dpkg", "-i", f"{made}.deb"], check=True, capture_output=True)
        refused = editor(home, "--undo", "--yes", "--root")
    finally:
        subprocess.run(["dpkg", "--purge", "needs-mosh"], check=True, capture_output=True)

    assert 1 == refused.returncode
    assert "needs-mosh depends on mosh" in refused.stdout
    assert 0 == editor(home, "--undo", "--yes", "--root").returncode
    assert before == listing(home)
