"""The environment that set-up creates: its folder, its marker, and its removal.

A folder belongs to set-up if it contains a marker that names it. No other folder is ever cleared or
removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import msgspec

from tpustarter.checking.plan import environments
from tpustarter.core import locations, state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases

MARKER = ".tpustarter-setup.json"
"""File in a folder that set-up created: folder, profile, and the completed steps."""
MARKED = "tpustarter.marker/1"
LOCK_WAIT_S = 20.0
"""Longest wait for the last command of a killed set-up; longer than its TERM and KILL take."""

_KNOWN_NAMES = re.compile(
    r"bin|include|lib|lib64|share|etc|man|pyvenv\.cfg|\.gitignore|CACHEDIR\.TAG|\.lock"
    r"|\.tpustarter-.*"
)
"""Names that venv, uv and package installations create in an environment's folder."""


class EnvironmentProofRecord(msgspec.Struct):
    """The recorded proof of an environment, with the versions at that time."""

    text: str = ""
    on_tpu: bool | None = None
    frameworks: tuple[str, ...] = ()


class SetupMarker(msgspec.Struct):
    """The marker in a folder that set-up created."""

    schema: str
    folder: str
    done: list[str]
    """Steps whose command succeeded."""
    profile: str | None = None
    made_folder: bool = False
    """True if set-up created the folder itself."""
    wheel: str | None = None
    packages: list[str] | None = None
    proof: EnvironmentProofRecord | None = None


def read_marker(folder: Path) -> SetupMarker | None:
    """Return a folder's own marker, or None if it has none.

    A marker that was copied from another folder, is damaged, or has another version counts as none.
    """
    try:
        marker = msgspec.convert(_fields(folder), SetupMarker)
        is_ours = marker.schema == MARKED and Path(marker.folder).samefile(folder)
    except (OSError, ValueError, RecursionError):
        return None
    return marker if is_ours else None


def _fields(folder: Path) -> dict[str, object]:
    return json.loads((folder / MARKER).read_text(encoding="utf-8"))


def write_marker(folder: Path, **fields: object) -> None:
    """Change these fields of the marker, all of them or none.

    Raises:
        Problem: The folder cannot be written to.
    """
    try:
        stored = _fields(folder) if read_marker(folder) else {}
        value = {"schema": MARKED, "folder": str(folder), **stored, **fields}
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".tpustarter-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        locations.chown_to_caller(Path(name))
        Path(name).replace(folder / MARKER)
    except OSError as error:
        raise _unwritable(folder, error) from error


def prepare_folder(folder: Path, profile: str) -> None:
    """Mark the folder as set-up's, or empty an incomplete environment of set-up's.

    Raises:
        Problem: The folder cannot be written to, contains other files, or runs this program.
    """
    if read_marker(folder) is not None:
        _refuse_unknown_files(folder)
        _refuse_own_environment(folder)
        _remove_contents(folder)
        write_marker(folder, done=[], proof=None)
        return
    stored = state.load_state(environments.STATE)
    # Saved first, so that a folder created just before a kill still counts as set-up's.
    made_folder = not os.path.exists(folder) or stored.get("making") == str(folder)  # noqa: PTH110  does not raise for a name that is too long
    state.save_state(environments.STATE, {**stored, "making": str(folder) if made_folder else None})
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    locations.chown_to_caller(folder)
    write_marker(folder, profile=profile, made_folder=made_folder, done=[], proof=None)


def explain_occupied_folder(folder: Path, display: Callable[[Path], str]) -> str | None:
    """Return why set-up may not use a folder for an environment, or None if it may."""
    quoted = f"`{display(folder)}`"
    if not os.path.lexists(folder):
        parent = folder.parent
        if not os.path.isdir(parent):  # noqa: PTH112  does not raise for paths that this user may not read
            return f"the folder `{display(parent)}` does not exist"
        may_write = os.access(parent, os.W_OK)
        return None if may_write else f"you may not write to `{display(parent)}`"
    if not folder.is_dir():
        return f"{quoted} is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK | os.R_OK):
        return f"you may not write to {quoted}"
    if read_marker(folder) is None:
        is_empty = all(_is_partial_marker(path) for path in folder.iterdir())
        return None if is_empty else f"{quoted} is not empty, and set-up did not make it"
    if names := list_unknown_files(folder):
        return f"{quoted} contains files that set-up did not make: {_abbreviate(names)}"
    return None


def has_installed_files(folder: Path) -> bool:
    """Return whether a folder of set-up contains anything besides its marker."""
    return any(path.name != MARKER for path in folder.iterdir())


def _is_partial_marker(path: Path) -> bool:
    # A kill during a write leaves such a file.
    return path.name.startswith(".tpustarter-") and path.name != MARKER


def list_unknown_files(folder: Path) -> list[str]:
    """Return the names in the folder that neither set-up nor an installation created."""
    return sorted(path.name for path in folder.iterdir() if not _KNOWN_NAMES.fullmatch(path.name))


def list_packages(folder: Path) -> list[str]:
    """Return the name and version of every package in the environment, from its folder names."""
    paths = folder.glob("lib/python3*/site-packages/*.dist-info")
    return sorted(path.name.removesuffix(".dist-info").replace("-", " ", 1) for path in paths)


def remove_environment(folder: Path) -> None:
    """Remove the environment, and its folder if set-up created it.

    Its Python is removed first, so that the environment no longer counts, and the marker last, so
    that an interrupted removal can be repeated. Nothing is written first, because the disk may be
    full.

    Raises:
        Problem: The folder is not set-up's, contains other files, or cannot be removed.
    """
    marker = require_removable(folder)
    try:
        if environments.has_python(folder):
            (folder / "bin/python").unlink()
        _remove_contents(folder)
        (folder / MARKER).unlink()
        if marker.made_folder and not folder.is_symlink():
            folder.rmdir()
    except OSError as error:
        raise _unwritable(folder, error) from error
    environments.forget_environment(folder)


def require_removable(folder: Path) -> SetupMarker:
    """Return the marker of a folder that may be removed.

    Raises:
        Problem: The folder may not be removed.
    """
    found = read_marker(folder)
    if found is None:
        exists = os.path.exists(folder)  # noqa: PTH110  does not raise for a name that is too long
        reason = "is not a folder that set-up made" if exists else "does not exist"
        raise Problem(
            f"`{folder}` {reason}, so there is nothing to undo",
            hint="name the folder with `--folder PATH`",
            code=ExitCode.INCONCLUSIVE,
        )
    _refuse_unknown_files(folder)
    _refuse_own_environment(folder)
    if pids := _find_pids(folder):
        raise Problem(
            f"programs from `{folder}` are still running: pid {_abbreviate(pids)}",
            hint=f"look at them with `ps -fp {','.join(pids[:5])}`, end them, and run the "
            "command again",
            code=ExitCode.INCONCLUSIVE,
        )
    return found


def _abbreviate(names: list[str]) -> str:
    return phrases.join_words((f"`{name}`" for name in names), most=5)


def _refuse_unknown_files(folder: Path) -> None:
    if names := list_unknown_files(folder):
        raise Problem(
            f"`{folder}` contains files that set-up did not make: {_abbreviate(names)}",
            hint="move them to another folder, then run the command again",
            code=ExitCode.INCONCLUSIVE,
        )


def _refuse_own_environment(folder: Path) -> None:
    with contextlib.suppress(OSError):
        if folder.samefile(sys.prefix):
            raise Problem(
                f"tpustarter itself runs in `{folder}`",
                hint="install tpustarter in an environment of its own, and run it from there",
                code=ExitCode.INCONCLUSIVE,
            )


def _find_pids(folder: Path) -> list[str]:
    # Only processes that this user can see are found.
    typed_prefix, real_prefix = (os.fsencode(f"{path}/") for path in (folder, folder.resolve()))
    pids: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            was_started = (process / "cmdline").read_bytes().startswith((typed_prefix, real_prefix))
            if was_started or b" " + real_prefix in (process / "maps").read_bytes():
                pids.append(process.name)
    return sorted(pids, key=int)


def _remove_contents(folder: Path) -> None:
    """Remove everything but the marker."""
    try:
        for path in folder.iterdir():
            if path.name == MARKER:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> Problem:
    return Problem(
        f"cannot write to `{folder}`: {error.strerror or error}",
        hint=f"`df -h {folder.parent}` shows the free space, and `ls -ld {folder}` the owner",
    )


@contextlib.contextmanager
def hold_setup_lock() -> Generator[int]:
    """Hold the lock that allows only one set-up per user; yield its file descriptor.

    Commands inherit it, so that after a kill the next set-up waits for those still ending.

    Raises:
        Problem: Another set-up is running.
    """
    busy = Problem(
        "another `tpustarter setup` is running",
        hint="wait until it ends, or stop it where it runs",
        code=ExitCode.INCONCLUSIVE,
    )
    path = locations.make_state_folder() / "setup.lock"
    with locations.hold_lock(path, wait_s=LOCK_WAIT_S, busy=busy, is_needed=True) as descriptor:
        yield descriptor
