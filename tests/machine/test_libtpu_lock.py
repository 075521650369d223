"""libtpu's lock: who holds it, and whether libtpu could take it; looking leaves it alone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.machines import lay_out
from tpustarter.machine import host


@pytest.mark.parametrize("state", ["absent", "stale", "live", "foreign"])
def test_lock_states_are_distinguished(tmp_path: Path, state: str) -> None:
    """A lock held by another live process is live, and one that can't be opened is foreign."""
    uid = os.getuid() + 1 if state == "foreign" else None
    machine = lay_out(tmp_path, "v5e", lock=None if state == "absent" else state, uid=uid)
    found = host.read_libtpu_lock(machine)

    assert found.state == state
    assert found.pid == (4242 if state == "live" else None)


def test_a_lock_of_flock_is_no_lock(tmp_path: Path) -> None:
    """Libtpu ignores flock(2), so the same file in a FLOCK line is stale."""
    machine = lay_out(tmp_path, "v5e", lock="live")
    locks = tmp_path / "proc/locks"
    locks.write_text(locks.read_text().replace("POSIX", "FLOCK"))

    assert host.read_libtpu_lock(machine).state == "stale"


@pytest.mark.skipif(sys.platform != "linux", reason="POSIX locks are asked for in Linux's way")
def test_real_lock_is_seen_and_kept(tmp_path: Path) -> None:
    """The kernel is asked, the lock is not taken, and its holder keeps it."""
    machine = lay_out(tmp_path, "v5e", lock="stale")
    path = tmp_path / "tmp/libtpu_lockfile"
    hold = f"import fcntl; f=open({str(path)!r},'r+'); fcntl.lockf(f,2); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        first, second = host.read_libtpu_lock(machine), host.read_libtpu_lock(machine)
        process.communicate(b"\n")

    assert (first.state, first.pid) == ("live", process.pid)
    assert second == first
    assert host.read_libtpu_lock(machine).state == "stale"


@pytest.mark.skipif(sys.platform != "linux", reason="POSIX locks are asked for in Linux's way")
def test_inspection_keeps_lock_of_this_process(tmp_path: Path) -> None:
    """The inspection doesn't drop this process's own lock, as closing a second descriptor would."""
    import fcntl

    machine = lay_out(tmp_path, "v5e", lock="stale")
    with (tmp_path / "tmp/libtpu_lockfile").open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        own = host.read_libtpu_lock(machine)
        code = "import sys; from tpustarter.machine import host; from pathlib import Path\n"
        code += "print(host.read_libtpu_lock(host.Machine(Path(sys.argv[1]), {})).state)"
        seen = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)],
            capture_output=True,
            text=True,
            cwd=Path(host.__file__).parents[2],
            check=True,
        )

    assert (own.state, own.pid) == ("live", os.getpid())
    assert seen.stdout == "live\n"


def a_socket(path: Path) -> None:
    """Make a socket at a path, however long that is."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def a_pipe(path: Path) -> None:
    """Make a pipe that everybody may open."""
    os.mkfifo(path)
    path.chmod(0o666)


def read_only(path: Path) -> None:
    """Take the right to write from the folder."""
    path.parent.chmod(0o555)


IN_THE_WAY: dict[str, tuple[Callable[[Path], object], str, str | None]] = {
    "folder": (Path.mkdir, "unusable", "folder"),
    "socket": (a_socket, "unusable", "socket"),
    "dangling link": (lambda path: path.symlink_to("/nowhere/at/all"), "unusable", "link"),
    "looped link": (lambda path: path.symlink_to(path), "unusable", "link"),
    "link to a file": (lambda path: path.symlink_to(Path(__file__)), "unusable", "link"),
    "read-only folder": (read_only, "unusable", "read-only"),
    "no folder": (lambda path: path.parent.rmdir(), "unusable", "no folder"),
    "pipe": (a_pipe, "stale", None),
    "nothing": (Path.exists, "absent", None),
}
"""What lies where libtpu wants its file, what libtpu 0.0.50.1 makes of it (tried), and what it is.

libtpu says that the TPU is in use for each that is unusable; a pipe, or nothing, it does not mind.
"""


@pytest.mark.parametrize("name", IN_THE_WAY)
def test_obstacle_to_libtpu_lock_file_is_named(name: str, tmp_path: Path) -> None:
    """Whatever keeps libtpu from its lock file is named by its kind, and isn't touched."""
    make, state, why = IN_THE_WAY[name]
    machine = lay_out(tmp_path, "v5e", uid=os.getuid() + 1 if os.getuid() else 1000)
    if os.getuid() == 0:
        os.chown(tmp_path / "tmp", 1000, 1000)
    make(tmp_path / "tmp/libtpu_lockfile")

    assert (state, why) == (
        host.read_libtpu_lock(machine).state,
        host.read_libtpu_lock(machine).why,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="POSIX locks are asked for in Linux's way")
@pytest.mark.parametrize("place", ["tmp/libtpu_lock_1000/libtpu_lockfile", "home/.libtpu_lockfile"])
def test_lock_in_newer_place_is_seen(place: str, tmp_path: Path) -> None:
    """A lock in the places that XLA uses after libtpu 0.0.52 is seen too."""
    machine = lay_out(tmp_path, "v5e", env={"HOME": "/home"})
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    about = path.stat()
    device = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    (tmp_path / "proc/locks").write_text(f"1: POSIX  ADVISORY  WRITE 4242 {device} 0 EOF\n")
    lock = host.read_libtpu_lock(machine)

    assert ("live", 4242, f"/{place}") == (lock.state, lock.pid, lock.path)
