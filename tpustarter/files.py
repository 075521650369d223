"""Writes files whole or not at all, wherever the user says, and never waits without limit."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import tempfile
import time
from pathlib import Path

from tpustarter import locations
from tpustarter.problem import ExitCode, Problem

WAIT_S = 5.0
"""Longest wait for somebody to read a pipe."""
_LOOK_S = 0.05


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
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem[:40]}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        locations.give_to_caller(Path(temporary))
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
    deadline = time.monotonic() + WAIT_S
    descriptor = _opened(path, deadline)
    try:
        while data:
            if not select.select([], [descriptor], [], max(0, deadline - time.monotonic()))[1]:
                raise OSError(errno.EAGAIN, f"nobody has read it for {WAIT_S:g} s")
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
        time.sleep(_LOOK_S)
    raise OSError(errno.ENXIO, "it is a pipe that nobody reads")
