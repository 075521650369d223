"""What reading a text came to, kept in the state folder, so that nothing is parsed twice.

An entry is keyed by the text that it was read from, by the code that read it, and by this Python:
whatever changes, the entry is not found any more, and nothing is ever out of date. Losing the
cache costs time and nothing else, so no error of it is ever shown.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Generator
from importlib.util import source_hash
from pathlib import Path
from typing import Any, cast

from tpustarter import locations
from tpustarter.problem import Problem
from tpustarter.version import __version__

MAX_BYTES = 4 * 1024 * 1024
"""A larger file is none of ours."""
MOST = 400
"""Entries kept of one name, those of this run first: other versions and folders have some too."""


class Cache:
    """The entries of one name: JSON values by what they were read from."""

    def __init__(self, entries: dict[str, Any], salt: bytes) -> None:
        self._kept, self._salt = entries, salt
        self._used: dict[str, Any] = {}
        self._is_changed = False

    def value(self, source: bytes, read: Callable[[], Any]) -> Any:
        """Return what `read` makes of a source, without calling it where that is known.

        What it raises is raised each time, and what JSON would change is read each time.
        """
        key = _hash(self._salt + source)
        if key in self._kept:
            self._used[key] = self._kept[key]
        else:
            value = read()
            if not _survives(value):
                return value
            self._used[key], self._is_changed = value, True
        return self._used[key]

    def to_keep(self) -> dict[str, Any] | None:
        """Return the entries worth keeping, as many as are kept; None where nothing changed."""
        everything = {**self._used, **self._kept}
        return dict(list(everything.items())[:MOST]) if self._is_changed else None


@contextlib.contextmanager
def opened(name: str, reader: str) -> Generator[Cache]:
    """Have the entries called `name` at hand; those that were added are kept when it ends.

    Args:
        name: That of a file in the folder `cache` of the state folder.
        reader: The file of the code that reads the sources.
    """
    cache = Cache(_load(name), _salt(reader))
    yield cache
    if (entries := cache.to_keep()) is not None:
        # A state folder that is full, read-only or nowhere to be found is no error here.
        with contextlib.suppress(OSError, ValueError, LookupError, RuntimeError, Problem):
            folder = locations.make_folder(locations.state_place() / "cache")
            text = json.dumps(entries)
            lines = f"{json.dumps(_hash(text.encode()))}\n{text}\n"
            locations.replace(folder / f"{name}.jsonl", lines.encode())


def _load(name: str) -> dict[str, Any]:
    """Return the entries that were kept; none where the file is not as it was written."""
    with contextlib.suppress(OSError, ValueError, LookupError, RuntimeError):
        file = locations.state_place() / "cache" / f"{name}.jsonl"
        first, _, text = locations.read_text(file, MAX_BYTES).partition("\n")
        text = text.removesuffix("\n")
        if json.loads(first) == _hash(text.encode()):
            return cast("dict[str, Any]", json.loads(text))
    return {}


def _salt(reader: str) -> bytes:
    """Return what tells this program, its reader and this Python from others."""
    code = b""
    with contextlib.suppress(OSError):
        code = Path(reader).read_bytes()
    return f"{__version__} {sys.version} {_hash(code)}\n".encode()


def _hash(data: bytes) -> str:
    """Return what tells one text from another: the hash by which Python knows its own caches."""
    return source_hash(data).hex()


def _survives(value: Any) -> bool:
    """Return whether a value is the same after it was written as JSON."""
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        return False
