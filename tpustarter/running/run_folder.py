"""The folder of one run, removed with it; after a failure its redacted logs are kept.

Output in it is unredacted, so only its user may open it. A killed program leaves its folder behind,
and the next run removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor, drop_incomplete_line

LOCK_WAIT_S = 30.0
"""Seconds to wait for another run that creates its folder and removes abandoned ones."""
MOST_FAILED_RUNS = 10
"""Maximum number of failed runs whose logs are kept."""
TEMPORARY = "tmp"
"""Name, in a run's folder, of the folder for temporary files or of a link to it."""
LONGEST = 72
"""Longest path of such a folder, in bytes. The sockets of Python's `multiprocessing` in it need 32
more, and a socket's path is limited to 107.
"""
PREFIX = "tpustarter-"
"""Name prefix of a temporary folder that is elsewhere because the run folder's path is too long."""
MAX_LOG_BYTES = 1024 * 1024
"""Maximum bytes kept of a log, from its end."""

_marks: dict[Path, int] = {}
"""Locks on this process's folders, which the system releases however the process ends."""


def make_run_folder() -> Path:
    """Create and return a new folder for one run, removing abandoned ones."""
    runs = locations.make_folder(locations.make_state_folder() / "runs")
    busy = Problem(
        f"another tpustarter has kept `{runs}` locked for {LOCK_WAIT_S:g} s",
        hint="end the other tpustarter, then try again",
        code=ExitCode.BUSY,
    )
    # Hold a lock, so that no other run finds the folder before it is marked as in use.
    with locations.hold_lock(runs, wait_s=LOCK_WAIT_S, busy=busy, is_folder=True):
        folder = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=runs))
        locations.chown_to_caller(folder)
        if (descriptor := _lock(folder)) is not None:
            _marks[folder] = descriptor
        for path in runs.iterdir():
            if path != folder and not _in_use(path):
                _delete(path)
    return folder


def make_temporary_folder(folder: Path) -> Path:
    """Return the folder for temporary files in a run's folder, creating it if necessary.

    Raises:
        Problem: It cannot be created.
    """
    own = folder / TEMPORARY
    with locations.convert_write_errors(own):
        if own.exists():
            return own.resolve()
        own.unlink(missing_ok=True)  # a link to a folder that has been removed
        if len(os.fsencode(own)) <= LONGEST:
            own.mkdir(exist_ok=True)
            locations.chown_to_caller(own)
            return own
        made = Path(tempfile.mkdtemp(prefix=PREFIX))
        locations.chown_to_caller(made)
        own.symlink_to(made)
    return made


def _delete(folder: Path) -> None:
    link = folder / TEMPORARY
    with contextlib.suppress(OSError):
        target = link.readlink()
        if target.name.startswith(PREFIX) and target.parent == Path(tempfile.gettempdir()):
            shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def hold_run_folder(redact: Redactor, failed: Callable[[], bool]) -> Generator[Path]:
    """Create a folder for one run, and remove it when the `with` block ends.

    If the run fails or raises a Problem, redacted logs are kept.
    """
    folder, broke = make_run_folder(), False
    try:
        yield folder
    except Problem:
        broke = True
        raise
    finally:
        if broke or failed():
            keep_logs(folder, redact)
        else:
            remove_run_folder(folder)


def remove_run_folder(folder: Path) -> None:
    """Remove the folder of a run that has ended."""
    _delete(folder)
    if (descriptor := _marks.pop(folder, None)) is not None:
        os.close(descriptor)


def keep_logs(folder: Path, redact: Redactor) -> None:
    """Remove a failed run's folder, after saving its redacted logs in the folder `logs`."""
    with contextlib.suppress(OSError, Problem):  # a full disk must not hide the failure
        logs = {
            path.name: text for path in _logs(folder) if (text := redact.redact_text(_tail(path)))
        }
        if logs:
            _write(folder.name, logs)
    remove_run_folder(folder)


def list_kept_logs(folder: Path) -> list[Path]:
    """Return the logs that were kept when a failed run's folder was removed."""
    with contextlib.suppress(OSError, Problem):
        kept = locations.make_state_folder() / "logs" / folder.name
        return sorted(path for path in kept.iterdir() if path.is_file())
    return []


def _logs(folder: Path) -> list[Path]:
    # The names come from `plan.run_folder_variables`.
    paths = [*folder.glob("probe-*.log"), *(folder / "tpu_logs").rglob("*")]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_LOG_BYTES))
        text = file.read().decode("utf-8", "replace")
    return drop_incomplete_line(text) if size > MAX_LOG_BYTES else text


def _write(name: str, logs: dict[str, str]) -> None:
    place = locations.make_folder(locations.make_state_folder() / "logs")
    kept = place / name
    kept.mkdir(mode=0o700)
    locations.chown_to_caller(kept)
    for file_name, text in logs.items():
        (kept / file_name).write_text(text, encoding="utf-8")
        locations.chown_to_caller(kept / file_name)
    for old in sorted(place.iterdir())[:-MOST_FAILED_RUNS]:
        shutil.rmtree(old, ignore_errors=True)


def _lock(folder: Path) -> int | None:
    # A lock on the folder marks it as in use; None if another process has it.
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _in_use(folder: Path) -> bool:
    try:
        descriptor = _lock(folder)
    except OSError:
        return True
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
