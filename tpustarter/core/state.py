"""State between runs: small JSON files that survive a kill during any write.

A file is written under a temporary name, flushed to disk and renamed, so it is never incomplete. A
damaged file is moved aside, never overwritten, and the program continues without it. A file that
cannot be read, for example because of its permissions, is left alone and ends the program.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.json_values import is_array, is_object
from tpustarter.core.problem import Problem, find_limit_problem

MAX_BYTES = 64 * 1024 * 1024
"""Largest state file, in bytes; a larger one was not written by this program."""


class UnreadableError(Exception):
    """Raised if a state file cannot be read or is damaged; `is_damaged` tells which."""

    def __init__(self, file: Path, why: str, *, is_damaged: bool) -> None:
        super().__init__(f"`{file}` cannot be read: {why}")
        self.file, self.why, self.is_damaged = file, why, is_damaged


def prepare_state_path(name: str) -> Path:
    """Return the path of the state called `name`, creating the state folder if necessary."""
    return locations.make_state_folder() / f"{name}.json"


def find_state_path(name: str) -> Path:
    """Return the path of the state called `name`, without creating anything."""
    return locations.state_folder_path() / f"{name}.json"


def load_state(name: str) -> dict[str, object]:
    """Return the state called `name`, or an empty mapping if there is none or it is damaged.

    Nothing is created, so state can be read where nothing can be written.

    Raises:
        Problem: The file cannot be read, or is damaged and cannot be moved aside.
    """
    try:
        return read_state_strictly(name) or {}
    except UnreadableError as error:
        if not error.is_damaged:
            raise Problem(
                str(error),
                hint=f"`ls -ld {error.file}` shows what it is, and whose; it was left as it is",
            ) from error
    with (
        locations.convert_write_errors(find_state_path(name)),
        contextlib.suppress(FileNotFoundError),
    ):
        move_damaged_file(name)
    return {}


def load_rows(name: str, key: str) -> list[object]:
    """Return the list under a key of the state called `name`; anything else is moved aside.

    Raises:
        Problem: The file cannot be read or moved aside.
    """
    rows = load_state(name).get(key, [])
    if is_array(rows):
        return rows
    with locations.convert_write_errors(find_state_path(name)):
        move_damaged_file(name)
    return []


def move_damaged_file(name: str) -> None:
    """Move a damaged state file aside; raises OSError."""
    file = find_state_path(name)
    broken = file.with_suffix(time.strftime(".broken-%Y%m%d-%H%M%S.json"))
    locations.move_aside(file, broken.name, why="cannot be read")


def read_state_strictly(name: str) -> dict[str, object] | None:
    """Return the state called `name`, or None if there is none; an unreadable file is left alone.

    For callers that must not continue as if nothing had been saved.

    Raises:
        UnreadableError: The file cannot be read.
        OSError: A limit on open files or memory is reached, so the state is unknown.
    """
    file = find_state_path(name)
    try:
        value = parse_json(locations.read_text(file, MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        why = "it is damaged, or something else has written it"
        raise UnreadableError(file, why, is_damaged=True) from error
    except OSError as error:
        if find_limit_problem(error):
            raise  # the file may be intact
        why = error.strerror or str(error)
        raise UnreadableError(file, why, is_damaged=False) from error
    if not is_object(value):
        raise UnreadableError(file, "it is not a JSON object", is_damaged=True)
    return value


def parse_json(text: str) -> object:
    """Parse JSON.

    Raises:
        ValueError: It is malformed, nested too deeply, or has NaN or infinity.
    """
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"`{text}` is not a number in JSON")
    return value


def save_state(name: str, value: dict[str, object]) -> None:
    """Replace the state called `name` atomically.

    Raises:
        Problem: It cannot be written, or the existing file cannot be read and may be worth more.
    """
    file = prepare_state_path(name)
    load_state(name)  # moves a damaged file aside
    with locations.convert_write_errors(file):
        locations.replace_file(file, json.dumps(value, indent=1).encode())
