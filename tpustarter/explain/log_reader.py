"""Read a log of any size in pieces of whole lines, in constant memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

CHUNK = 1 << 20
"""Bytes read at a time."""
PIECE_BYTES = 1 << 18
"""Bytes collected before they are searched."""
AHEAD = 4_000
"""Bytes passed along after a piece's last line, for messages that span several lines."""

LONGEST_LINE = 4_000
"""Bytes of a line searched as one; a longer line is broken to keep searches fast."""
BREAK = b"\0\n"
"""The mark that breaks a long line; it does not count as a line ending."""

_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])")
_ENCODINGS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
"""Encodings that PowerShell writes."""


@dataclass(frozen=True)
class LogPiece:
    """Whole lines of a log without escape sequences, and some of the data that follows."""

    data: bytes
    own: int
    """Length of this piece's own lines in bytes; the data after them is repeated in the next
    piece."""
    first_line: int
    """Number of its first line, counted from 1."""
    lines: int
    """Number of lines that end in it."""


def read_chunks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a stream's bytes; raise OSError if it cannot be read."""
    while chunk := stream.read(CHUNK):
        yield chunk


class LogLines:
    """A converter of a log from chunks of bytes to whole lines."""

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False
        self._rest = b""
        self._number = 1

    def feed(self, chunk: bytes) -> LogPiece | None:
        """Add the log's next bytes, and return whole lines once there are enough."""
        data = self._rest = self._rest + self._plain(chunk)
        if len(data) < PIECE_BYTES:
            return None
        # The parts of a longer line are searched separately.
        own = data.rfind(b"\n", 0, len(data) - AHEAD) + 1 or len(data) - AHEAD
        return self._piece(own)

    def finish(self) -> LogPiece | None:
        """Return the rest of the log, or None if there is none."""
        return self._piece(len(self._rest)) if self._rest else None

    def _piece(self, own: int) -> LogPiece:
        raw, self._rest = self._rest[:own], self._rest[own:]
        data, lines = _broken(remove_escapes(raw)), raw.count(b"\n")
        piece = LogPiece(data + remove_escapes(self._rest[:AHEAD]), len(data), self._number, lines)
        self._number += lines
        return piece

    def _plain(self, chunk: bytes) -> bytes:
        if not self._begun:
            self._begun = True
            for mark, encoding in _ENCODINGS:
                if chunk.startswith(mark):
                    self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        return self._decoder.decode(chunk).encode() if self._decoder else chunk


def remove_escapes(data: bytes) -> bytes:
    """Return a log without terminal escape sequences."""
    return _ESCAPE.sub(b"", data) if b"\x1b" in data else data


def _broken(data: bytes) -> bytes:
    parts: list[bytes] = []
    begin = start = 0
    while len(data) - start > LONGEST_LINE:
        end = data.rfind(b"\n", start, start + LONGEST_LINE) + 1
        start = end or start + LONGEST_LINE
        if not end:
            parts += (data[begin:start], BREAK)
            begin = start
    return b"".join((*parts, data[begin:])) if parts else data
