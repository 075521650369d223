"""State between runs: small JSON files that survive a kill during any write.

A file is written beside itself, flushed to the disk and renamed, so that there is always a whole
one. A file that cannot be read is put aside, never overwritten, and the program continues without
it.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from pathlib import Path
from typing import Any, cast

from tpustarter.core import locations
from tpustarter.core.problem import of_limit

MAX_BYTES = 64 * 1024 * 1024
"""Size above which a file is not one of this program."""


class UnreadableError(Exception):
    """A state file that cannot be read."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"`{file}` cannot be read: {why}")
        self.file, self.why = file, why


def path(name: str) -> Path:
    """Return the path of the state called `name`, making the state folder if necessary."""
    return locations.state() / f"{name}.json"


def place(name: str) -> Path:
    """Return the path of the state called `name`; nothing is made."""
    return locations.state_place() / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """Return the state called `name`; empty where there is none that can be read.

    Nothing is made, so that state can be read where nothing can be written.
    """
    try:
        return read(name) or {}
    except UnreadableError:
        with contextlib.suppress(OSError):
            put_aside(name)
    return {}


def put_aside(name: str) -> None:
    """Rename an unusable state file; raises OSError."""
    file = place(name)
    broken = file.with_suffix(time.strftime(".broken-%Y%m%d-%H%M%S.json"))
    locations.put_aside(file, broken.name, why="cannot be read")


def read(name: str) -> dict[str, Any] | None:
    """Return the state called `name`, None where there is none; an unreadable file is left alone.

    For callers that must not continue as if nothing had been saved.

    Raises:
        UnreadableError: the file cannot be read.
        OSError: this machine allows no more open files or memory, so the state is unknown.
    """
    file = place(name)
    try:
        value = parse(locations.read_text(file, MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise UnreadableError(file, "it is damaged, or something else has written it") from error
    except OSError as error:
        if of_limit(error):
            raise  # the file may be intact
        raise UnreadableError(file, error.strerror or str(error)) from error
    if not isinstance(value, dict):
        raise UnreadableError(file, "it is not a JSON object")
    return cast("dict[str, Any]", value)


def parse(text: str) -> Any:
    """Return the value of a JSON text; raises ValueError, also for NaN and infinity."""
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"`{text}` is not a number in JSON")
    return value


def save(name: str, value: dict[str, Any]) -> None:
    """Replace the state called `name`, all of it or nothing; raises Problem on a full disk."""
    file = path(name)
    with locations.writing(file):
        locations.replace(file, json.dumps(value, indent=1).encode())
