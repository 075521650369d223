"""A cache in the state folder for values parsed or built from files.

An entry is keyed by its source's content, the code that produced it and the versions of Python and
tpustarter. A change to any of them is a cache miss, so no entry is ever stale. The first line of a
file is the hash of the rest. Losing the cache costs only time, so its errors are ignored. Under
sudo there is no cache, because any of the user's programs could write entries that root would
trust.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Generator
from importlib.util import source_hash
from pathlib import Path
from typing import Any, TypeVar

from tpustarter.core import locations
from tpustarter.core.json_values import is_object
from tpustarter.core.problem import Problem
from tpustarter.version import __version__

_T = TypeVar("_T")
Entries = dict[str, Any]
"""Values by the hash of their source, of the type that reads this source."""

MAX_BYTES = 8 * 1024 * 1024
"""Largest cache file, in bytes, that is read."""
MOST = 400
"""Maximum number of entries per file, this run's first; other versions and folders share the file.
"""


class Cache:
    """The entries of one cache file: JSON values keyed by a hash of their source."""

    def __init__(self, entries: Entries, salt: bytes) -> None:
        self._kept, self._salt = entries, salt
        self._used: Entries = {}
        self._is_changed = False

    def get_or_read(self, source: bytes, read: Callable[[], _T]) -> _T:
        """Return the value that `read` returns for a source, from the cache if possible.

        Errors are never cached, nor are values that do not survive a round trip through JSON.
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

    def select_entries_to_keep(self) -> Entries | None:
        """Return at most `MOST` entries to save, or None if nothing changed."""
        everything = {**self._used, **self._kept}
        return dict(list(everything.items())[:MOST]) if self._is_changed else None


@contextlib.contextmanager
def open_cache(name: str, reader: str) -> Generator[Cache]:
    """Open the cache called `name`; new entries are saved when the `with` block ends.

    Args:
        name: Name of a file in the state folder's `cache` folder.
        reader: Path of the module that reads the sources; a change to it is a cache miss.
    """
    cache = Cache(_entries(name), _salt(reader))
    yield cache
    if (kept := cache.select_entries_to_keep()) is not None and (folder := _folder()):
        _keep(folder / name, json.dumps(kept).encode())


def read_or_build(
    name: str, source: bytes, reader: str, build: Callable[[], bytes]
) -> bytes | None:
    """Return the bytes built from a source, from the cache if possible.

    Returns None, without building them, if they cannot be cached. `reader` is the path of the
    module that builds them; a change to it is a cache miss.
    """
    key = _hash(_salt(reader) + source).encode()
    known, _, body = (_load(name) or b"").partition(b"\n")
    if known == key:
        return body
    if (folder := _folder()) is None:
        return None
    body = build()
    _keep(folder / name, key + b"\n" + body)
    return body


def _entries(name: str) -> Entries:
    with contextlib.suppress(ValueError, RecursionError):
        entries = json.loads(_load(name) or b"{}")
        if is_object(entries):
            return entries
    return {}


def _load(name: str) -> bytes | None:
    if locations.find_sudo_caller():
        return None
    with contextlib.suppress(OSError, ValueError, LookupError, RuntimeError):
        file = locations.state_folder_path() / "cache" / name
        first, _, body = locations.read_bytes(file, MAX_BYTES).partition(b"\n")
        if first == _hash(body).encode():
            return body
    return None


def _folder() -> Path | None:
    if locations.find_sudo_caller():
        return None
    with contextlib.suppress(OSError, ValueError, LookupError, RuntimeError, Problem):
        return locations.make_folder(locations.state_folder_path() / "cache")
    return None


def _keep(file: Path, body: bytes) -> None:
    with contextlib.suppress(OSError):
        locations.replace_file(file, _hash(body).encode() + b"\n" + body)


def _salt(reader: str) -> bytes:
    code = b""
    with contextlib.suppress(OSError):
        code = Path(reader).read_bytes()
    return f"{__version__} {sys.version} {_hash(code)}\n".encode()


def _hash(data: bytes) -> str:
    # The hash that Python uses for its own hash-based `.pyc` files.
    return source_hash(data).hex()


def _survives(value: object) -> bool:
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        return False
