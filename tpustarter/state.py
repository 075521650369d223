"""What the program remembers between runs: small JSON files that survive a kill at any write.

A file is written beside itself, flushed to the disk and renamed, so that there is always a whole
one. A file that cannot be read is put aside, never overwritten, and the program goes on without.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from pathlib import Path
from typing import Any

from tpustarter import locations

MAX_BYTES = 64 * 1024 * 1024
"""A larger file is none of ours."""


def path(name: str) -> Path:
    """Return where the state called `name` lies."""
    return locations.state() / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """Return what was saved as `name`; an empty one where there is none that can be read.

    Nothing is made: what was saved can be read where nothing can be written.
    """
    file = locations.state_place() / f"{name}.json"
    try:
        value = parse(locations.read_text(file, MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError):
        value = None
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]  JSON, checked by its reader
    with contextlib.suppress(OSError):
        file.replace(file.with_suffix(time.strftime(".broken-%Y%m%d-%H%M%S.json")))
    return {}


def parse(text: str) -> Any:
    """Return what a JSON text says; raises ValueError, also for what could not be written again."""
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
    """Replace what was saved as `name`, all of it or nothing; raises Problem on a full disk."""
    file = path(name)
    with locations.writing(file):
        locations.replace(file, json.dumps(value, indent=1).encode())
