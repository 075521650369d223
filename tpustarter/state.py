"""What the program remembers between runs: small JSON files that survive a kill at any write.

A file is written beside itself, flushed to the disk and renamed, so that there is always a whole
one. A file that cannot be read is put aside, never overwritten, and the program goes on without.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tpustarter import locations
from tpustarter.problem import Problem


def path(name: str) -> Path:
    """Return where the state called `name` lies."""
    return locations.state() / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """Return what was saved as `name`; an empty one where there is none that can be read."""
    file = path(name)
    try:
        value: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        value = None
    if isinstance(value, dict):
        return value  # pyright: ignore[reportUnknownVariableType]  JSON, checked by its reader
    with contextlib.suppress(OSError):
        file.replace(file.with_suffix(time.strftime(".broken-%Y%m%d-%H%M%S.json")))
    return {}


def save(name: str, value: dict[str, Any]) -> None:
    """Replace what was saved as `name`, all of it or nothing; raises Problem on a full disk."""
    file = path(name)
    temporary = None
    try:
        descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=f".{name}-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(value, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        locations.give_to_caller(Path(temporary))
        Path(temporary).replace(file)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise Problem(
            f"cannot write `{file}`: {error.strerror or error}",
            hint="free some space, or set TPUSTARTER_HOME to a folder you can write to",
        ) from error
