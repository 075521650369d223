"""Find the distributions installed in this Python from their metadata folders.

`importlib.metadata` handles more, but is ten times slower: it takes 35 ms of a static check, half
to be imported and half to parse whole metadata files of which a few lines are needed. It is used
only if packages may be anywhere but in folders.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import PathFinder
from typing import NamedTuple

_ENDINGS = (".dist-info", ".egg-info")
_FILES = ("METADATA", "PKG-INFO", "")
"""Metadata files in a folder; an `.egg-info` may be the file itself."""


class DistributionInfo(NamedTuple):
    """The metadata of an installed distribution; fields are empty if its files were deleted."""

    name: str | None = None
    version: str | None = None
    requires: tuple[str, ...] = ()
    """Its `Requires-Dist` entries."""


def find_installed_distributions(
    names: Iterable[str], path: Sequence[str] | None = None
) -> dict[str, list[DistributionInfo]]:
    """Return the installed distributions with some names, each list in import order.

    Args:
        names: Names of distributions, in any spelling.
        path: Folders to search instead of `sys.path`.
    """
    folders = sys.path if path is None else path
    wanted = {normalise_name(name): name for name in names}
    if not _are_folders(folders):
        return {name: list(_asked(name, path)) for name in wanted.values()}
    found: dict[str, list[DistributionInfo]] = {name: [] for name in wanted.values()}
    for folder in folders:
        for entry in _entries(folder or "."):
            stem, ending = os.path.splitext(entry.lower())  # noqa: PTH122  hundreds of names
            name = (
                wanted.get(normalise_name(stem.partition("-")[0])) if ending in _ENDINGS else None
            )
            if name is not None:
                found[name].append(_read(f"{folder or '.'}/{entry}"))
    return found


def normalise_name(name: str) -> str:
    """Normalise a distribution's name, so that all its spellings compare equal."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _are_folders(path: Sequence[str]) -> bool:
    # Packages can be elsewhere only with another finder, or in a zip file other than the probe's.
    others = [
        finder
        for finder in sys.meta_path
        if finder is not PathFinder and hasattr(finder, "find_distributions")
    ]
    files = {entry for entry in path if os.path.isfile(entry)}  # noqa: PTH113  no pathlib needed
    return not others and files <= set(sys.argv[:1])


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  names only, in import order
    except (OSError, ValueError):
        return []


def _read(place: str) -> DistributionInfo:
    for name in _FILES:
        path = f"{place}/{name}" if name else place
        try:
            with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                said = _parsed(file)
        except OSError:
            continue
        if said.name or said.version:
            return said
    return DistributionInfo()


def _parsed(lines: Iterable[str]) -> DistributionInfo:
    # An indented line continues the previous one; the first line that is not a field ends them.
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
    return DistributionInfo(
        first.get("name"), first.get("version"), tuple(fields.get("requires-dist", ()))
    )


def _asked(name: str, path: Sequence[str] | None) -> Iterator[DistributionInfo]:
    import importlib.metadata

    for one in importlib.metadata.distributions(
        name=name, path=sys.path if path is None else list(path)
    ):
        fields = one.metadata
        if fields:
            requires = tuple(fields.get_all("Requires-Dist") or ())
            yield DistributionInfo(fields["Name"], fields["Version"], requires)
        else:
            yield DistributionInfo()
