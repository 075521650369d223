"""The folder of one run, gone with the run; of one that failed the logs are kept, without secrets.

What a process writes is there as it came, and only its user may open it. A program that was killed
leaves its folder behind: the next run removes it.
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

from tpustarter import locations
from tpustarter.problem import Problem
from tpustarter.redact import Redactor

UNTOUCHED_S = 60.0
"""A younger folder is never removed by another run: it may not be marked as in use yet."""
KEPT = 10
"""Failed runs whose logs are kept."""
MAX_LOG_BYTES = 1024 * 1024
"""Bytes kept of one log, from its end."""

_marks: dict[Path, int] = {}
"""Locks on the folders of this process; they end with it, however it ends."""


def make() -> Path:
    """Make and return a fresh folder for one run, and remove those that nobody uses any more."""
    runs = locations.make_folder(locations.state() / "runs")
    folder = Path(tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-"), dir=runs))
    locations.give_to_caller(folder)
    if (descriptor := _lock(folder)) is not None:
        _marks[folder] = descriptor
    for path in runs.iterdir():
        if path != folder and not _in_use(path):
            shutil.rmtree(path, ignore_errors=True)
    return folder


@contextlib.contextmanager
def of_run(redact: Redactor, failed: Callable[[], bool]) -> Generator[Path]:
    """Have a folder for one run; its logs are kept where that failed or ends by a Problem."""
    folder, broke = make(), False
    try:
        yield folder
    except Problem:
        broke = True
        raise
    finally:
        if broke or failed():
            keep_logs(folder, redact)
        else:
            remove(folder)


def remove(folder: Path) -> None:
    """Remove the folder of a run that has ended."""
    shutil.rmtree(folder, ignore_errors=True)
    if (descriptor := _marks.pop(folder, None)) is not None:
        os.close(descriptor)


def keep_logs(folder: Path, redact: Redactor) -> None:
    """Remove the folder of a run that failed, and keep what was logged below `logs`."""
    with contextlib.suppress(OSError, Problem):  # a full disk must not hide what failed
        logs = {path.name: text for path in _logs(folder) if (text := redact.text(_tail(path)))}
        if logs:
            _write(folder.name, logs)
    remove(folder)


def kept_logs(folder: Path) -> list[Path]:
    """Return what was kept of a run that failed, by its folder, which is gone by now."""
    with contextlib.suppress(OSError, Problem):
        kept = locations.state() / "logs" / folder.name
        return sorted(path for path in kept.iterdir() if path.is_file())
    return []


def _logs(folder: Path) -> list[Path]:
    """Return what the probe and libtpu logged, see `plan.own_folders`."""
    paths = [*folder.glob("probe-*.log"), *(folder / "tpu_logs").rglob("*")]
    return sorted(path for path in paths if path.is_file() and not path.is_symlink())


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_LOG_BYTES))
        return file.read().decode("utf-8", "replace")


def _write(name: str, logs: dict[str, str]) -> None:
    place = locations.make_folder(locations.state() / "logs")
    kept = place / name
    kept.mkdir(mode=0o700)
    locations.give_to_caller(kept)
    for file_name, text in logs.items():
        (kept / file_name).write_text(text, encoding="utf-8")
        locations.give_to_caller(kept / file_name)
    for old in sorted(place.iterdir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


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
    """Return whether a run may still need a folder."""
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
