"""Where things lie: content that ships with the program, and the folders it writes.

Under sudo everything written belongs to the user who called it, never to root.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from tpustarter.problem import Problem

PACKAGE = Path(__file__).parent

MAX_BYTES = 1024 * 1024
"""Size of a file of content beyond which it cannot be meant."""
LOCK_LOOK_S = 0.02
"""Seconds between two attempts to get a lock."""


def content(name: str) -> Path:
    """Return the folder of `checks` or `lessons`: in the package, or beside it in a checkout."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def caller() -> tuple[int, int] | None:
    """Return user and group id of the person who called sudo, or None when nobody did."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    user, group = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    return (int(user), int(group)) if user.isdigit() and group.isdigit() and user != "0" else None


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file; raises OSError or ValueError for a pipe, a device, a huge one."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if status.st_size > max_bytes:
        raise OSError(errno.EFBIG, f"found {status.st_size} bytes, expected {max_bytes} at most")
    return path.read_text(encoding="utf-8-sig")


def state() -> Path:
    """Return the folder for state and logs, made if need be."""
    return make_folder(state_place())


def state_place() -> Path:
    """Return where the folder for state and logs is, or would be; nothing is made."""
    chosen = os.environ.get("TPUSTARTER_HOME")
    if chosen:
        return Path(chosen)
    if sudo := caller():
        import pwd

        return Path(pwd.getpwuid(sudo[0]).pw_dir) / ".local/state/tpustarter"
    from platformdirs import user_state_path

    return user_state_path("tpustarter", appauthor=False)


def make_folder(folder: Path) -> Path:
    """Make a folder and its missing parents, for the caller; raises Problem if it cannot be."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        with tempfile.TemporaryFile(dir=folder):
            pass  # a folder that cannot be written to must show now, not at the end of a run
    except OSError as error:
        raise Problem(
            f"cannot write to the state folder `{folder}`: {error.strerror or error}",
            hint="free some space, or set TPUSTARTER_HOME to a folder you can write to",
        ) from error
    for path in missing:
        give_to_caller(path)
    return folder


@contextlib.contextmanager
def writing(path: Path) -> Generator[None]:
    """Raise Problem for what the disk refuses while `path` is written."""
    try:
        yield
    except OSError as error:
        raise Problem(
            f"cannot write `{path}`: {error.strerror or error}",
            hint="free some space, or set TPUSTARTER_HOME to a folder you can write to",
        ) from error


@contextlib.contextmanager
def alone(path: Path, *, wait_s: float, busy: Problem) -> Generator[int]:
    """Hold the lock on `path`; yields its descriptor: what inherits that keeps the lock.

    Raises:
        Problem: the file cannot be written, or `busy`, as another program held it all the time.
    """
    with writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    give_to_caller(path)
    deadline = time.monotonic() + wait_s
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise busy from None
                time.sleep(LOCK_LOOK_S)
            except OSError:  # a file system without locks: what is written is whole all the same
                break
        yield descriptor
    finally:
        os.close(descriptor)


def give_to_caller(path: Path) -> None:
    """Hand a file or folder to the user who called sudo; does nothing without sudo."""
    if sudo := caller():
        with contextlib.suppress(OSError):
            os.chown(path, *sudo, follow_symlinks=False)
