"""The environment that set-up makes: whose folder it is, what it holds, what is remembered of it.

A folder is ours when the marker in it names it. Nothing else is ever cleared or removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

from tpustarter import locations, state
from tpustarter.problem import ExitCode, Problem

MARKER = ".tpustarter-setup.json"
"""Lies in a folder that set-up made: for which folder and profile, and how far it got."""
STATE = "setup"
"""Name of the state: the folder being made, and the environment that was proved."""
LOCK_WAIT_S = 20.0
"""Longest wait for the last command of a set-up that was killed: more than its TERM and KILL."""

_MADE = re.compile(
    r"bin|include|lib|lib64|share|etc|man|pyvenv\.cfg|\.gitignore|CACHEDIR\.TAG|\.lock"
    r"|\.tpustarter-.*"
)
"""What venv, uv and the installation of packages put into an environment's folder."""


def environment() -> Path | None:
    """Return the folder of the environment that set-up made and proved, if it is still there."""
    with contextlib.suppress(Problem):  # without a state folder nothing is remembered
        folder = state.load(STATE).get("environment")
        if isinstance(folder, str) and os.access(f"{folder}/bin/python", os.X_OK):
            return Path(folder)
    return None


def remember(folder: Path) -> None:
    """Make this environment the one that set-up made; raises Problem on a full disk."""
    state.save(STATE, {**state.load(STATE), "environment": str(folder)})


def forget(folder: Path) -> None:
    """Forget the environment if it is this one; raises Problem on a full disk."""
    known = state.load(STATE)
    if known.get("environment") == str(folder):
        state.save(STATE, {name: known[name] for name in known if name != "environment"})


def marker(folder: Path) -> dict[str, Any] | None:
    """Return what the marker says, or None where the folder is not ours: no marker, or a copy."""
    try:
        value: Any = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        ours = isinstance(value, dict) and Path(str(value["folder"])).samefile(folder)  # pyright: ignore[reportUnknownArgumentType]
    except (OSError, ValueError, KeyError):
        return None
    return cast("dict[str, Any]", value) if ours else None


def mark(folder: Path, **fields: Any) -> None:
    """Write the marker with these fields changed, all of it or nothing.

    Raises:
        Problem: the folder cannot be written to.
    """
    value = {"schema": "tpustarter.marker/1", "folder": str(folder), **(marker(folder) or {})}
    try:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".tpustarter-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump({**value, **fields}, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        locations.give_to_caller(Path(name))
        Path(name).replace(folder / MARKER)
    except OSError as error:
        raise _unwritable(folder, error) from error


def make(folder: Path, profile: str) -> None:
    """Make the folder ours, or empty the one of ours that is half made; raises Problem."""
    if marker(folder) is not None:
        _remove_contents(folder, keep={MARKER})
        mark(folder, done=[], proof=None)
        return
    known = state.load(STATE)
    # Told beforehand, so that a folder made just before a kill is still known as ours.
    made = not folder.exists() or known.get("making") == str(folder)
    state.save(STATE, {**known, "making": str(folder) if made else None})
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    locations.give_to_caller(folder)
    mark(folder, profile=profile, made_folder=made, done=[], proof=None)


def occupied(folder: Path) -> str | None:
    """Return why set-up may not make its environment in this folder; None when it may."""
    if not os.path.lexists(folder):
        parent = folder.parent
        if not os.path.isdir(parent):  # noqa: PTH112  answers for what this user may not look at
            return f"the folder `{parent}` does not exist"
        return None if os.access(parent, os.W_OK) else f"this user may not write to `{parent}`"
    if not folder.is_dir():
        return f"`{folder}` is not a folder"
    if not os.access(folder, os.W_OK | os.X_OK | os.R_OK):
        return f"this user may not write to `{folder}`"
    if marker(folder) is None and any(not _is_ours(path) for path in folder.iterdir()):
        return f"`{folder}` is not empty, and set-up did not make it"
    return None


def _is_ours(path: Path) -> bool:
    """Tell whether a file is a marker that a kill left half written."""
    return path.name.startswith(".tpustarter-") and path.name != MARKER


def strangers(folder: Path) -> list[str]:
    """Return the names in the folder that neither set-up nor an installation put there."""
    return sorted(path.name for path in folder.iterdir() if not _MADE.fullmatch(path.name))


def packages(folder: Path) -> list[str]:
    """Return name and version of every package in the environment, from folder names."""
    found = folder.glob("lib/python3*/site-packages/*.dist-info")
    return sorted(path.name.removesuffix(".dist-info").replace("-", " ", 1) for path in found)


def remove(folder: Path) -> None:
    """Remove the environment, and its folder if set-up made that.

    The marker goes last, so that a removal that was interrupted can be done again.

    Raises:
        Problem: the folder is not ours, holds what set-up did not put there, or cannot be removed.
    """
    known = refuse_strangers(folder)
    forget(folder)
    mark(folder, done=[], proof=None)
    try:
        _remove_contents(folder, keep={MARKER})
        (folder / MARKER).unlink()
        if known.get("made_folder") and not folder.is_symlink():
            folder.rmdir()
    except OSError as error:
        raise _unwritable(folder, error) from error


def refuse_strangers(folder: Path) -> dict[str, Any]:
    """Return the marker of a folder that may be removed; raises Problem for any other."""
    known = marker(folder)
    if known is None:
        there = "is not a folder that set-up made" if folder.exists() else "does not exist"
        raise Problem(
            f"`{folder}` {there}: nothing to undo",
            hint="name the folder with `--folder PATH`",
            code=ExitCode.INCONCLUSIVE,
        )
    if others := strangers(folder):
        names = ", ".join(f"`{name}`" for name in others[:5])
        names += f" and {len(others) - 5} more" if len(others) > 5 else ""
        raise Problem(
            f"`{folder}` holds what set-up did not put there: {names}",
            hint="move it to another place, then run this again",
            code=ExitCode.INCONCLUSIVE,
        )
    return known


def _remove_contents(folder: Path, keep: set[str]) -> None:
    try:
        for path in folder.iterdir():
            if path.name in keep:
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
        hint=f"`df -h {folder.parent}` shows the space, `ls -ld {folder}` whose it is",
    )


@contextlib.contextmanager
def only_one() -> Generator[int]:
    """Keep other set-ups of this user out; yields the descriptor that does.

    Commands inherit it, so that after a kill the next set-up waits for what is still ending.

    Raises:
        Problem: another set-up runs.
    """
    path = locations.state() / "setup.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    locations.give_to_caller(path)
    deadline = time.monotonic() + LOCK_WAIT_S
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Problem(
                        "another `tpustarter setup` is running",
                        hint="wait for it to end, or stop it there",
                        code=ExitCode.INCONCLUSIVE,
                    ) from None
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)
