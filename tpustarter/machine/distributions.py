"""What is installed in this Python, read from the folders in which its packages say it.

`importlib.metadata` knows more, and takes ten times as long: 35 ms of a static check, half for
importing it and half for reading whole e-mails where one line of each is asked. Where packages may
lie anywhere but in folders, it is asked all the same.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

_ENDINGS = (".dist-info", ".egg-info")
_FILES = ("METADATA", "PKG-INFO", "")
"""Where a distribution says what it is; an `.egg-info` may be the file itself."""


class Said(NamedTuple):
    """What an installed distribution says of itself; nothing where it was deleted in part."""

    name: str | None = None
    version: str | None = None
    requires: tuple[str, ...] = ()
    """Its `Requires-Dist` lines."""


def named(names: Iterable[str], path: Sequence[str] | None = None) -> dict[str, list[Said]]:
    """Return what is installed under some names, for each those first that an import would find.

    Args:
        names: Those of distributions, however they are spelt.
        path: Folders to look in, in place of `sys.path`.
    """
    folders = sys.path if path is None else path
    wanted = {normalised(name): name for name in names}
    if not _are_folders(folders):
        return {name: list(_asked(name, path)) for name in wanted.values()}
    found: dict[str, list[Said]] = {name: [] for name in wanted.values()}
    for folder in folders:
        for entry in _entries(folder or "."):
            stem, ending = os.path.splitext(entry.lower())  # noqa: PTH122  hundreds of names
            name = wanted.get(normalised(stem.partition("-")[0])) if ending in _ENDINGS else None
            if name is not None:
                found[name].append(_read(f"{folder or '.'}/{entry}"))
    return found


def normalised(name: str) -> str:
    """Return a name as it is compared: however it is spelt, it is the same project."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _are_folders(path: Sequence[str]) -> bool:
    """Return whether folders are all that packages may lie in; the zip of a probe has none."""
    others = [
        finder
        for finder in sys.meta_path
        if finder is not PathFinder and hasattr(finder, "find_distributions")
    ]
    files = {entry for entry in path if os.path.isfile(entry)}  # noqa: PTH113  no pathlib needed
    return not others and files <= set(sys.argv[:1])


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  names alone, in the order that Python takes
    except (OSError, ValueError):
        return []


def _read(place: str) -> Said:
    for name in _FILES:
        path = f"{place}/{name}" if name else place
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                said = _parsed(file)
        except OSError:
            continue
        if said.name or said.version:
            return said
    return Said()


def _parsed(lines: Iterable[str]) -> Said:
    """Return what lines say up to the first that is no field; one that is indented goes on."""
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for line in lines:
        if line[0] in " \t":
            if values:
                values[-1] += "\n" + line.rstrip("\r\n")
            continue
        name, colon, value = line.partition(":")
        if not colon or " " in name:
            break
        values = fields.setdefault(name.lower(), [])
        values.append(value.strip())
    first = {name: texts[0] for name, texts in fields.items()}
    return Said(first.get("name"), first.get("version"), tuple(fields.get("requires-dist", ())))


def _asked(name: str, path: Sequence[str] | None) -> Iterator[Said]:
    """Yield what Python's own way of reading them finds."""
    import importlib.metadata

    options: dict[str, Any] = {} if path is None else {"path": list(path)}
    for one in importlib.metadata.distributions(name=name, **options):
        fields = one.metadata
        if fields:
            requires = tuple(fields.get_all("Requires-Dist") or ())
            yield Said(fields["Name"], fields["Version"], requires)
        else:
            yield Said()
