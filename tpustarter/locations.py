"""Where things lie: content that ships with the program, and the folders it writes.

Under sudo everything written belongs to the user who called it, never to root.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from tpustarter.problem import Problem

PACKAGE = Path(__file__).parent

UNTOUCHED_S = 60.0
"""A younger run folder is never dropped."""
KEPT_RUNS = 10
"""Run folders kept for looking at logs afterwards."""


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


def state() -> Path:
    """Return the folder for state and logs, made if need be."""
    chosen = os.environ.get("TPUSTARTER_HOME")
    if chosen:
        folder = Path(chosen)
    elif sudo := caller():
        import pwd

        folder = Path(pwd.getpwuid(sudo[0]).pw_dir) / ".local/state/tpustarter"
    else:
        from platformdirs import user_state_path

        folder = user_state_path("tpustarter", appauthor=False)
    return make_folder(folder)


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


def give_to_caller(path: Path) -> None:
    """Hand a file or folder to the user who called sudo; does nothing without sudo."""
    if sudo := caller():
        with contextlib.suppress(OSError):
            os.chown(path, *sudo, follow_symlinks=False)


def run_folder() -> Path:
    """Make and return a fresh folder for one run, and drop the oldest ones."""
    runs = make_folder(state() / "runs")
    name = time.strftime("%Y%m%d-%H%M%S-")
    folder = Path(tempfile.mkdtemp(prefix=name, dir=runs))
    give_to_caller(folder)
    if (descriptor := _lock(folder)) is not None:
        _kept_open.append(descriptor)
    older = sorted(path for path in runs.iterdir() if path != folder)
    for path in older[: max(0, len(older) - KEPT_RUNS + 1)]:
        if not _in_use(path):
            shutil.rmtree(path, ignore_errors=True)
    return folder


_kept_open: list[int] = []
"""Locks on the run folders of this process; they end with it, however it ends."""


def _lock(folder: Path) -> int | None:
    """Return a descriptor that marks a folder as in use, or None when another one does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _in_use(folder: Path) -> bool:
    """Return whether a run may still need a folder; one made just now may not be locked yet."""
    try:
        if time.time() - folder.stat().st_mtime < UNTOUCHED_S:
            return True
        descriptor = _lock(folder)
    except OSError:
        return True
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
