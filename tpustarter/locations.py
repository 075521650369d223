"""Where things lie, and how they are written: content, the state folder, files the user names.

Under sudo everything written belongs to the user who called it, never to root. A file is written
whole or not at all, and nothing here waits without limit.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import stat
import sys
import time
from collections.abc import Generator
from pathlib import Path

from tpustarter.problem import ExitCode, Problem

PACKAGE = Path(__file__).parent

MAX_BYTES = 1024 * 1024
"""Size of a file of content beyond which it cannot be meant."""
LOCK_LOOK_S = 0.02
"""Seconds between two attempts to get a lock."""
PIPE_WAIT_S = 5.0
"""Longest wait for somebody to read a pipe."""
PIPE_LOOK_S = 0.05
"""Seconds between two attempts to open one."""


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
    _refuse_odd(path, max_bytes)
    return path.read_text(encoding="utf-8-sig")


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return what a file holds; raises OSError for a pipe, a device, a huge one."""
    _refuse_odd(path, max_bytes)
    return path.read_bytes()


def _refuse_odd(path: Path, max_bytes: int) -> None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if status.st_size > max_bytes:
        raise OSError(errno.EFBIG, f"found {status.st_size} bytes, expected {max_bytes} at most")


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
    if sys.platform == "linux":  # as platformdirs, which takes as long as all the rest to import
        below = {"XDG_STATE_HOME": "", "HOME": ".local/state"}
        for name, folder in below.items():
            if os.environ.get(name, "").startswith("/"):
                return Path(os.environ[name], folder, "tpustarter")
    from platformdirs import user_state_path

    return user_state_path("tpustarter", appauthor=False)


def make_folder(folder: Path) -> Path:
    """Make a folder and its missing parents, for the caller; raises Problem if it cannot be."""
    import tempfile  # takes long, and is not needed where nothing is written

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


def write(path: Path, text: str) -> None:
    """Write a text where the user wants it: all of it or nothing, in bounded time.

    A file is written beside itself and renamed, also where a link leads to it. One in a folder that
    takes no new file is written where it is, and so is a pipe or a device.

    Raises:
        Problem: it cannot be written, for example as nobody reads the pipe.
    """
    data = text.encode()
    try:
        is_file = _is_file_or_absent(path)
        if not (is_file and _renamed(path, data)):
            _write_there(path, data)
    except OSError as error:
        why = error.strerror or str(error)
        raise Problem(f"cannot write `{path}`: {why}", code=ExitCode.OUTPUT) from error


def replace(path: Path, data: bytes, mode: int | None = None) -> None:
    """Put a file in the place of another, all of it or nothing; raises OSError.

    Args:
        path: No link, for that would be replaced.
        data: All of it.
        mode: Its permissions; null for those that nobody but this user has.
    """
    import tempfile

    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        give_to_caller(Path(temporary))
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def _is_file_or_absent(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _renamed(path: Path, data: bytes) -> bool:
    """Write beside a file and rename; false where its folder or its mount does not allow that."""
    target = Path(os.path.realpath(path))
    there = target.exists()
    try:
        replace(target, data, stat.S_IMODE(target.stat().st_mode) if there else 0o666 & ~_umask())
    except OSError as error:
        if there and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY):
            return False
        raise
    return True


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write_there(path: Path, data: bytes) -> None:
    deadline = time.monotonic() + PIPE_WAIT_S
    descriptor = _opened(path, deadline)
    try:
        while data:
            if not select.select([], [descriptor], [], max(0, deadline - time.monotonic()))[1]:
                raise OSError(errno.EAGAIN, f"nobody has read it for {PIPE_WAIT_S:g} s")
            data = data[os.write(descriptor, data[:4096]) :]
    finally:
        os.close(descriptor)


def _opened(path: Path, deadline: float) -> int:
    """Open what is no file; opening a pipe for good would wait until somebody reads it."""
    while time.monotonic() < deadline:
        try:
            return os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        time.sleep(PIPE_LOOK_S)
    raise OSError(errno.ENXIO, "it is a pipe that nobody reads")
