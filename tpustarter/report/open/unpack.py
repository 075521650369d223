"""Read the files of a foreign bundle in memory; nothing is extracted, and sizes are limited.

A bundle is an archive, its unpacked folder, or its report.json alone. Notes describe the
differences from the manifest; a changed file is shown anyway.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import json_values, state
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.report.open.untar import (
    MOST_BYTES,
    MOST_MEMBERS,
    RefusedArchive,
    decompress,
    is_allowed_name,
    read_members,
)
from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text, escape_text

MOST_JSON_BYTES = 4_000_000
"""Maximum size of one JSON file; a report of this version has a tenth of that."""
REPORT, MANIFEST = "report.json", "manifest.json"
HINT = "give the .tar.gz that `tpustarter report` wrote, its folder, or its report.json"


@dataclass(frozen=True)
class Bundle:
    """The files of a report, with notes on its manifest."""

    name: str
    """The file's name without folders, safe to show."""
    files: dict[str, bytes]
    """By their names in the report's folder."""
    notes: tuple[str, ...] = ()
    """Sentences that compare the files with the manifest."""


def read_bundle(path: Path) -> Bundle:
    """Read the files of a report.

    Raises:
        Problem: The path is not a report.
    """
    shown = escape_text(Redactor(os.environ).redact_text(path.name or str(path)))
    try:
        found = _read_folder(path) if path.is_dir() else _read_file(path)
        if REPORT not in found:
            raise RefusedArchive(f"there is no {REPORT} in it")
        return Bundle(cut_text(shown, 60), found, tuple(_compare_with_manifest(found)))
    except (RefusedArchive, OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        code = ExitCode.USAGE if isinstance(error, OSError) else ExitCode.CONFIGURATION
        raise Problem(
            f"cannot open `{cut_text(shown, 60)}`: {why}", hint=HINT, code=code
        ) from error


def parse_object(data: bytes, name: str) -> dict[str, object]:
    """Parse a JSON object.

    Raises:
        ValueError: The data are invalid or too large; the message is safe to show.
    """
    if len(data) > MOST_JSON_BYTES:
        raise ValueError(f"{name} has {len(data):,} bytes, expected {MOST_JSON_BYTES:,} at most")
    try:
        value = state.parse_json(data.decode("utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{name} is not JSON") from error
    if not json_values.is_object(value):
        raise ValueError(f"{name} is not a JSON object")
    return value


def _read_file(path: Path) -> dict[str, bytes]:
    data = _read_bytes(path)
    if data.startswith(b"\x1f\x8b"):
        data = decompress(data)
    elif data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return {REPORT: data}
    if data[257:262] != b"ustar":
        raise RefusedArchive("it is neither an archive of tpustarter's nor a report.json")
    return _select_report_files(read_members(data))


def _read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file, but no pipe or device, which may have no end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RefusedArchive("it is not a regular file")
        if status.st_size > most:
            raise RefusedArchive(f"it has {status.st_size:,} bytes, expected {most:,} at most")
        return stream.read(most)


def _select_report_files(archive: Iterator[tuple[tuple[str, ...], bytes]]) -> dict[str, bytes]:
    """Return the files of the folder that contains the report, keyed by their paths in it."""
    given: dict[tuple[str, ...], bytes] = {}
    for parts, data in archive:
        if parts in given:
            raise RefusedArchive(f"it has two files called `{'/'.join(parts)}`")
        given[parts] = data
    reports = sorted((parts for parts in given if parts[-1] == REPORT), key=len)
    if len(reports) > 1 and len(reports[0]) == len(reports[1]):
        raise RefusedArchive("it has two reports")
    above = reports[0][:-1] if reports else ()
    return {
        "/".join(parts[len(above) :]): data
        for parts, data in given.items()
        if parts[: len(above)] == above
    }


def _read_folder(path: Path) -> dict[str, bytes]:
    """Return the report and the files in its manifest, refusing links."""
    found: dict[str, bytes] = {}
    names, left = [REPORT, MANIFEST], MOST_BYTES
    while names:
        name = names.pop(0)
        place = path / name
        if name in found or not os.path.lexists(place):
            continue
        if place.resolve() != path.resolve() / name:
            raise RefusedArchive(f"`{name}` in it is a link, expected a file")
        found[name] = _read_bytes(place, left)
        left -= len(found[name])
        if name == MANIFEST:
            names += [one for one, _ in _read_manifest(found)]
    return found


class _ManifestRow(msgspec.Struct):
    name: str
    sha256: str


def _read_manifest(files: dict[str, bytes]) -> list[tuple[str, str]]:
    try:
        manifest = parse_object(files[MANIFEST], MANIFEST)
    except (KeyError, ValueError):
        return []
    rows = json_values.items_of_type(manifest.get("files"), _ManifestRow, MOST_MEMBERS)
    return [(row.name, row.sha256) for row in rows if is_allowed_name(tuple(row.name.split("/")))]


def _compare_with_manifest(files: dict[str, bytes]) -> Iterator[str]:
    if MANIFEST not in files:
        yield "There is no manifest, so nothing shows whether the report was changed afterwards."
        return
    listed = _read_manifest(files)
    if REPORT not in dict(listed):
        yield (
            "The manifest cannot be used, so nothing shows whether the report was changed "
            "afterwards."
        )
        return
    changed = [
        name
        for name, digest in listed
        if name in files and hashlib.sha256(files[name]).hexdigest() != digest
    ]
    missing = [name for name, _ in listed if name not in files]
    more = files.keys() - {name for name, _ in listed} - {MANIFEST}
    if changed:
        yield (
            f"{_quote_names(changed)} changed after the report was made: the SHA-256 is not the "
            "one in the manifest."
        )
    if missing:
        are = phrases.choose_plural(len(missing), "is", "are")
        them = phrases.choose_plural(len(missing), "it", "them")
        yield f"{_quote_names(missing)} {are} missing: the manifest names {them}."
    if more:
        are = phrases.choose_plural(len(more), "is", "are")
        yield f"{_quote_names(sorted(more))} {are} not in the manifest, and not shown."


def _quote_names(names: Sequence[str]) -> str:
    return phrases.join_words((f"`{name}`" for name in names), most=3)
