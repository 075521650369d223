"""A cache in the state folder for what is made of files, so that nothing is parsed or built twice.

An entry is keyed by the content that it was made of, by the code that made it, and by this Python:
whatever changes, it is not found any more, and nothing is ever out of date. The first line of a
file is the hash of the rest. Losing the cache costs only time, so none of its errors is shown.
Under sudo there is no cache, because any program of the user could write entries that root would
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
"""Size of a file above which it is not one of this cache."""
MOST = 400
"""Entries kept of one name, those of this run first: other versions and folders have some too."""


class Cache:
    """The entries of one name: JSON values keyed by the source they were read from."""

    def __init__(self, entries: Entries, salt: bytes) -> None:
        self._kept, self._salt = entries, salt
        self._used: Entries = {}
        self._is_changed = False

    def get_or_read(self, source: bytes, read: Callable[[], _T]) -> _T:
        """Return the value that `read` makes of a source, from the cache if possible.

        An error of `read` is never cached, nor is a value that JSON would change.
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
        """Return the entries to keep, at most `MOST`, or None if nothing changed."""
        everything = {**self._used, **self._kept}
        return dict(list(everything.items())[:MOST]) if self._is_changed else None


@contextlib.contextmanager
def open_cache(name: str, reader: str) -> Generator[Cache]:
    """Open the cache called `name`; new entries are saved when the `with` block ends.

    Args:
        name: That of a file in the folder `cache` of the state folder.
        reader: The file of the code that reads the sources.
    """
    cache = Cache(_entries(name), _salt(reader))
    yield cache
    if (kept := cache.select_entries_to_keep()) is not None and (folder := _folder()):
        _keep(folder / name, json.dumps(kept).encode())


def read_or_build(
    name: str, source: bytes, reader: str, build: Callable[[], bytes]
) -> bytes | None:
    """Return the bytes that `build` makes of a source, from the cache if they are there.

    Returns None if they cannot be kept. `reader` is the file of the code that builds: when it
    changes, so may the bytes.
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
    # The hash that Python uses for its own caches of modules.
    return source_hash(data).hex()


def _survives(value: object) -> bool:
    try:
        return json.loads(json.dumps(value, allow_nan=False)) == value
    except (TypeError, ValueError, RecursionError):
        return False
