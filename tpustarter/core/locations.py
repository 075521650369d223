"""File locations and safe I/O: content, the state folder, and files that the user names.

Under sudo, everything written belongs to the user who called it, never to root. A file is written
completely or not at all, and no function waits indefinitely.
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
from itertools import count
from pathlib import Path

from tpustarter.core.problem import ExitCode, Problem

PACKAGE = Path(__file__).parents[1]

MAX_BYTES = 1024 * 1024
"""Largest content file, in bytes; a larger one is a mistake."""
_MOST_ID = 2**32 - 1
"""The user id that the kernel reserves for "none"."""
LOCK_LOOK_S = 0.02
"""Seconds between attempts to take a lock."""
PIPE_WAIT_S = 5.0
"""Seconds to wait for a pipe's reader."""
PIPE_LOOK_S = 0.05
"""Seconds between attempts to open a pipe."""

_untold: list[str] = []
"""Sentences about files that were moved aside, not yet shown to the user."""


def content_folder(name: str) -> Path:
    """Return the folder `checks` or `lessons`: in the package, or next to it in a checkout."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


def find_sudo_caller() -> tuple[int, int] | None:
    """Return the user and group id of sudo's caller, or None without sudo."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    user, group = (_number(os.environ.get(name, "")) for name in ("SUDO_UID", "SUDO_GID"))
    return None if user is None or group is None or user == 0 else (user, group)


def _number(text: str) -> int | None:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(_MOST_ID)):
        return None
    return int(text) if int(text) < _MOST_ID else None


def sudo_caller_home() -> Path | None:
    """Return the home folder of sudo's caller, or None without sudo or for an unknown user."""
    if sudo := find_sudo_caller():
        import pwd

        with contextlib.suppress(KeyError):  # the user is unknown on this machine
            return Path(pwd.getpwuid(sudo[0]).pw_dir)
    return None


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a regular file.

    Raises:
        OSError: It cannot be read, is not a regular file, or is too large.
        ValueError: It is not UTF-8.
    """
    _refuse_odd(path, max_bytes)
    return path.read_text(encoding="utf-8-sig")


def read_user_file(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return the text of a file or pipe that the user named.

    A shell turns `<(command)` into a pipe, which is read until its writers have closed it.

    Raises:
        OSError: It cannot be read, or is too large.
        ValueError: It is not UTF-8.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        return read_text(path, max_bytes)
    with path.open("rb") as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"found more than {max_bytes} bytes")
    return data.decode("utf-8-sig")


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        OSError: It cannot be read, is not a regular file, or is too large.
    """
    _refuse_odd(path, max_bytes)
    return path.read_bytes()


def _refuse_odd(path: Path, max_bytes: int) -> None:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if status.st_size > max_bytes:
        raise OSError(errno.EFBIG, f"found {status.st_size} bytes, expected {max_bytes} at most")


def make_state_folder() -> Path:
    """Return the folder for state and logs, creating it if necessary."""
    return make_folder(state_folder_path())


def state_folder_path() -> Path:
    """Return the path of the folder for state and logs, without creating it."""
    chosen = os.environ.get("TPUSTARTER_HOME")
    if chosen:
        return Path(chosen)
    if home := sudo_caller_home():
        return home / ".local/state/tpustarter"
    if sys.platform == "linux":  # as platformdirs does, without its slow import
        below = {"XDG_STATE_HOME": "", "HOME": ".local/state"}
        for name, folder in below.items():
            if os.environ.get(name, "").startswith("/"):
                return Path(os.environ[name], folder, "tpustarter")
    from platformdirs import user_state_path

    return user_state_path("tpustarter", appauthor=False)


def make_folder(folder: Path) -> Path:
    """Create a folder and its missing parents; under sudo they belong to the caller.

    Raises:
        Problem: The folder cannot be created or written to.
    """
    import tempfile  # slow to import, and only needed for writing

    try:
        make_folders(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass  # an unwritable folder must be reported now, not at the end of a run
    except OSError as error:
        raise Problem(
            f"cannot write to the state folder `{folder}`: {error.strerror or error}",
            hint="free some space, or set TPUSTARTER_HOME to a folder you can write to",
        ) from error
    return folder


def make_folders(folder: Path, mode: int = 0o755) -> None:
    """Create a folder and its missing parents; under sudo they belong to the caller."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True, mode=mode)
    for path in missing:
        chown_to_caller(path)


@contextlib.contextmanager
def convert_write_errors(path: Path) -> Generator[None]:
    """Turn an OSError raised while `path` is written into a Problem."""
    try:
        yield
    except OSError as error:
        raise Problem(
            f"cannot write `{path}`: {error.strerror or error}",
            hint="free some space, or set TPUSTARTER_HOME to a folder you can write to",
        ) from error


@contextlib.contextmanager
def hold_lock(
    path: Path, *, wait_s: float, busy: Problem, is_needed: bool = False, is_folder: bool = False
) -> Generator[int]:
    """Hold a lock on `path`, yielding its descriptor; a process that inherits it keeps the lock.

    Args:
        path: The lock file, which is created if it is missing.
        wait_s: Seconds to wait for another process.
        busy: The Problem to raise after that time.
        is_needed: True to raise if the file system has no locks, instead of running without one.
        is_folder: True if `path` is an existing folder.

    Raises:
        Problem: The file cannot be written or locked, or `busy`.
    """
    with convert_write_errors(path):
        flags = os.O_RDONLY if is_folder else os.O_RDWR | os.O_CREAT
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
    chown_to_caller(path)
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
            except OSError as error:
                if is_needed:
                    raise make_lock_problem(path, error) from error
                break
        yield descriptor
    finally:
        os.close(descriptor)


def make_lock_problem(path: Path, error: OSError) -> Problem:
    """Return the Problem for a file system without locks."""
    return Problem(
        f"cannot lock `{path}`: {error.strerror or error}",
        hint="set TPUSTARTER_HOME to a folder on a disk of this machine",
    )


def expand_path(text: str | Path) -> Path:
    """Expand `~` in a path that the user typed; `~name` is kept if there is no such user."""
    return Path(os.path.expanduser(text))  # noqa: PTH111  pathlib raises for an unknown user


@contextlib.contextmanager
def convert_output_errors(path: Path) -> Generator[None]:
    """Turn an OSError about a file or folder that the user named into a Problem."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise Problem(f"cannot write `{path}`: {why}", code=ExitCode.OUTPUT) from error


def chown_to_caller(path: Path) -> None:
    """Give a file or folder to the user who called sudo; without sudo, do nothing."""
    if sudo := find_sudo_caller():
        with contextlib.suppress(OSError):
            os.chown(path, *sudo, follow_symlinks=False)


def write_user_file(path: Path, text: str) -> None:
    """Write a file that the user named, completely or not at all; give up after a timeout.

    A file is written under a temporary name and renamed, also through a symbolic link. A file whose
    folder accepts no new files is written in place, and so is a pipe or a device.

    Raises:
        Problem: It cannot be written, for example because a pipe has no reader.
    """
    data = text.encode()
    with convert_output_errors(path):
        is_file = _is_file_or_absent(path)
        if not (is_file and _replace_by_rename(path, data)):
            _write_there(path, data)


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file's content atomically.

    Args:
        path: The file; a symbolic link would itself be replaced.
        data: The whole content.
        mode: Its permissions; None for access by the owner only.
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
        chown_to_caller(Path(temporary))
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def claim_free_name(path: Path, *, folder: bool = False) -> Path:
    """Create an empty file or folder under a free name: `path`, or else `NAME-2` and so on.

    A file that exists, or that another process creates at the same moment, is never replaced.
    """
    for number in count(1):
        free = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        with contextlib.suppress(FileExistsError):
            free.mkdir() if folder else free.touch(exist_ok=False)
            return free
    raise AssertionError  # unreachable: the loop is endless


def move_aside(path: Path, name: str, *, why: str = "") -> Path:
    """Move a file or folder to a free name in its folder; return its new path.

    An existing file of that name is kept if it differs. If its content is the same, the moved file
    would be a second copy and is deleted instead.

    Args:
        path: The file or folder in the way.
        name: Its new name, if that is free.
        why: The reason, for `pop_move_notices`; empty if the caller reports the move.

    Raises:
        OSError: It cannot be moved.
    """
    kept = _move_aside(path, name)
    if why:
        _untold.append(f"`{path}` {why}, so it was put aside as `{kept.name}`")
    return kept


def pop_move_notices() -> list[str]:
    """Return sentences about the files moved aside since the last call, without full stops."""
    sentences = [*_untold]
    del _untold[: len(sentences)]
    return sentences


def _move_aside(path: Path, name: str) -> Path:
    for number in count(1):
        known = path.with_name(name)
        known = known if number == 1 else known.with_stem(f"{known.stem}-{number}")
        if not os.path.lexists(known):
            break
        if _have_same_content(path, known):
            path.unlink()
            return known
    is_folder = stat.S_ISDIR(path.lstat().st_mode)
    kept = claim_free_name(path.with_name(name), folder=is_folder)
    try:
        path.replace(kept)
    except OSError:
        with contextlib.suppress(OSError):
            kept.rmdir() if is_folder else kept.unlink()
        raise
    return kept


def _have_same_content(path: Path, other: Path) -> bool:
    import filecmp

    try:
        are_files = all(stat.S_ISREG(one.lstat().st_mode) for one in (path, other))
        return are_files and filecmp.cmp(path, other, shallow=False)
    except OSError:  # unreadable, so it may differ
        return False


def _is_file_or_absent(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def _replace_by_rename(path: Path, data: bytes) -> bool:
    """Write a temporary file and rename it; return False if that is not permitted."""
    target = Path(os.path.realpath(path))
    there = target.exists()
    try:
        replace_file(
            target, data, stat.S_IMODE(target.stat().st_mode) if there else 0o666 & ~_umask()
        )
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
    descriptor = _open_pipe(path, deadline)
    try:
        while data:
            if not select.select([], [descriptor], [], max(0, deadline - time.monotonic()))[1]:
                raise OSError(errno.EAGAIN, f"nobody has read it for {PIPE_WAIT_S:g} s")
            data = data[os.write(descriptor, data[:4096]) :]
    finally:
        os.close(descriptor)


def _open_pipe(path: Path, deadline: float) -> int:
    # A blocking open would wait until the pipe has a reader, so this one polls.
    while time.monotonic() < deadline:
        try:
            return os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        time.sleep(PIPE_LOOK_S)
    raise OSError(errno.ENXIO, "it is a pipe that nobody reads")
