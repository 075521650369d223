"""What was made of files, kept in the state folder, so that nothing is parsed or built twice.

It is keyed by the content that it was made of, by the code that made it, and by this Python:
whatever changes, it is not found any more, and nothing is ever out of date. The first line of a
file is the hash of the rest. Losing the cache costs time and nothing else, so no error of it is
ever shown. Under sudo there is none: any program of the user's can write what root would believe.
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

MAX_BYTES = 8 * 1024 * 1024
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
    cache = Cache(_entries(name), _salt(reader))
    yield cache
    if (kept := cache.to_keep()) is not None and (folder := _folder()):
        _keep(folder / name, json.dumps(kept).encode())


def built(name: str, source: bytes, reader: str, build: Callable[[], bytes]) -> bytes | None:
    """Return what `build` makes of a source, or made of it before; None where it cannot be kept."""
    key = _hash(_salt(reader) + source).encode()
    known, _, body = (_load(name) or b"").partition(b"\n")
    if known == key:
        return body
    if (folder := _folder()) is None:
        return None
    body = build()
    _keep(folder / name, key + b"\n" + body)
    return body


def _entries(name: str) -> dict[str, Any]:
    with contextlib.suppress(ValueError, RecursionError):
        entries = json.loads(_load(name) or b"{}")
        if isinstance(entries, dict):
            return cast("dict[str, Any]", entries)
    return {}


def _load(name: str) -> bytes | None:
    """Return what was kept; None where the file is not as it was written."""
    if locations.caller():
        return None
    with contextlib.suppress(OSError, ValueError, LookupError, RuntimeError):
        file = locations.state_place() / "cache" / name
        first, _, body = locations.read_bytes(file, MAX_BYTES).partition(b"\n")
        if first == _hash(body).encode():
            return body
    return None


def _folder() -> Path | None:
    """Make and return the folder of what is kept; None where there can be none."""
    if locations.caller():
        return None
    with contextlib.suppress(OSError, ValueError, LookupError, RuntimeError, Problem):
        return locations.make_folder(locations.state_place() / "cache")
    return None


def _keep(file: Path, body: bytes) -> None:
    """Write a file; a disk that is full is no error."""
    with contextlib.suppress(OSError):
        locations.replace(file, _hash(body).encode() + b"\n" + body)


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
