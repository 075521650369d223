"""An in-memory reader of archives, which trusts no size in them and uses no name as a path.

It reads plain files and folders, as written by `bundle` and common programs, and refuses the rest.
There is therefore nothing to follow, to fill with zeros or to extract. The standard library's
`tarfile` reads much more, and in older supported versions of Python it never returns from a header
with a negative offset (CVE-2025-8194).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from tpustarter.text.terminal import cut_text, escape_text

MOST_BYTES = 20_000_000
"""Maximum size of an archive, packed and unpacked, and of a folder's files together."""
MOST_MEMBERS = 200
"""Maximum number of members in an archive; a report of this version has a dozen files."""
DEEPEST = 4
"""Maximum number of parts of a name in an archive."""
_BLOCK = 512
_FILE, _SKIPPED = (b"0", b"\0"), (b"5", b"x", b"g")
"""Member types: files, and those that are skipped, which are folders and file metadata."""
_PART = re.compile(r"[\w][\w .@+=~-]{0,120}", re.ASCII)
_OCTAL = re.compile(rb"[0-7]{1,12}")


class RefusedArchive(Exception):  # noqa: N818  it names a kind of file
    """Raised for an archive without a report. The message gives the reason, and is safe to show."""


def decompress(data: bytes) -> bytes:
    """Unpack gzip data.

    Raises:
        RefusedArchive: The data are damaged, or unpack to more than `MOST_BYTES`.
    """
    one = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        made = one.decompress(data, MOST_BYTES + 1)
    except zlib.error as error:
        raise RefusedArchive("it is damaged: it cannot be unpacked") from error
    if len(made) > MOST_BYTES:
        raise RefusedArchive(f"unpacked it has more than {MOST_BYTES:,} bytes, which no report has")
    if not one.eof:
        raise RefusedArchive("it is cut off in the middle")
    if one.unused_data.strip(b"\0"):
        raise RefusedArchive("something else follows the archive in the same file")
    return made


def read_members(data: bytes) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield the files of an archive, each with the parts of its name.

    Raises:
        RefusedArchive: The archive is damaged, or has something that no report has.
    """
    position, count = 0, 0
    while position + _BLOCK <= len(data):
        header = data[position : position + _BLOCK]
        if not header.strip(b"\0"):
            return
        count += 1
        if count > MOST_MEMBERS:
            raise RefusedArchive(f"it has more than {MOST_MEMBERS} files, which no report has")
        size, kind = _parse_size(header), header[156:157]
        start = position + _BLOCK
        if start + size > len(data):
            raise RefusedArchive(f"a file in it is said to have {size:,} bytes, and has fewer")
        if kind in _FILE:
            yield _parse_name(header), data[start : start + size]
        elif kind not in _SKIPPED:
            raise RefusedArchive(
                f"`{'/'.join(_parse_name(header))}` in it is neither a file nor a folder"
            )
        position = start + -(-size // _BLOCK) * _BLOCK
    raise RefusedArchive("it is cut off in the middle")


def _parse_name(header: bytes) -> tuple[str, ...]:
    """Return the parts of a member's name.

    Raises:
        RefusedArchive: A file of a report may not have this name.
    """
    name = _decode_field(header[:100])
    if header[257:265] == b"ustar\x0000" and header[345]:
        name = f"{_decode_field(header[345:500])}/{name}"
    parts = tuple(name.removeprefix("./").split("/"))
    if not is_allowed_name(tuple(map(_strip_dot, parts))):
        raise RefusedArchive(
            f"`{cut_text(escape_text(name), 60)}` in it is a name that no report has"
        )
    return parts


def is_allowed_name(parts: tuple[str, ...]) -> bool:
    """Return whether these parts form a name that a file of a report may have."""
    return len(parts) <= DEEPEST and all(map(_PART.fullmatch, parts))


def _strip_dot(part: str) -> str:
    """Return a part of a name without its leading dot, because hidden files are accepted."""
    return part[1:] if part.startswith(".") and not part.startswith("..") else part


def _decode_field(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _parse_size(header: bytes) -> int:
    """Return the size in a header.

    Raises:
        RefusedArchive: The checksum does not match.
    """
    field = header[124:136].strip(b" \0")
    checksum = header[148:156].strip(b" \0")
    spaces = sum(header[:148]) + sum(header[156:]) + 8 * ord(" ")
    if not _OCTAL.fullmatch(field) or not _OCTAL.fullmatch(checksum) or int(checksum, 8) != spaces:
        raise RefusedArchive("it is damaged: a header in it is none")
    return int(field, 8)
