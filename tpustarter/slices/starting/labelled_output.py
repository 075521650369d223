"""The lines of each host, split from the labelled output of one command that runs all of them.

Engines do not label lines but pieces. `srun --label` cuts a line after 1024 bytes, and begins the
rest on a line of its own with the label again. Open MPI puts a label in front of each piece that it
has read, also in the middle of a line, so that one line may have pieces of several hosts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from itertools import zip_longest

from tpustarter.running.line_splitter import LineSplitter


@dataclass(frozen=True)
class LabelFormat:
    """The labels of an engine."""

    pattern: re.Pattern[bytes]
    """A label; its first group is the host's number."""
    within: bool = False
    """True if one may stand in the middle of a line, too."""
    wrap: int | None = None
    """Bytes behind the label after which a line is cut and goes on in the next one."""


class HostLineSplitter:
    """The lines of one stream, by host."""

    def __init__(self, labels: LabelFormat, limit: int) -> None:
        """Begin with the labels, and a limit for the bytes of one line."""
        self._labels = labels
        self._limit = limit
        self._pending = b""
        self._lines: dict[int | None, LineSplitter] = {}

    def feed(self, data: bytes) -> Generator[tuple[int | None, str], None, None]:
        """Yield the lines that are complete now; those without a label have None for a host."""
        *whole, self._pending = (self._pending + data).split(b"\n")
        for line in whole:
            yield from self._split(line, b"\n")
        if len(self._pending) > self._limit:
            pending, self._pending = self._pending, b""
            yield from self._split(pending, b"")

    def take_rest(self) -> Generator[tuple[int | None, str], None, None]:
        """Yield the texts after the last line end of each host."""
        pending, self._pending = self._pending, b""
        yield from self._split(pending, b"")
        for host, lines in self._lines.items():
            for text in lines.take_rest():
                yield host, text

    def _split(self, line: bytes, end: bytes) -> Generator[tuple[int | None, str], None, None]:
        if self._labels.within:
            matches = [*self._labels.pattern.finditer(line)]
        else:
            match = self._labels.pattern.match(line)
            matches = [match] if match else []
        if not matches or matches[0].start():
            last = end if not matches else b"\n"  # what no host wrote is no part of a host's line
            yield from self._add(None, line[: matches[0].start() if matches else None] + last)
        for match, following in zip_longest(matches, matches[1:]):
            piece = line[match.end() : following.start() if following else None]
            is_cut = following is not None or self._is_wrapped(piece)
            yield from self._add(int(match[1]), piece if is_cut else piece + end)

    def _is_wrapped(self, piece: bytes) -> bool:
        return len(piece) == self._labels.wrap and not _is_whole(piece)

    def _add(self, host: int | None, data: bytes) -> Generator[tuple[int | None, str], None, None]:
        lines = self._lines.setdefault(host, LineSplitter(self._limit))
        for text in lines.feed(data):
            yield host, text


def _is_whole(piece: bytes) -> bool:
    """Return whether a line at the length limit is complete, and was not cut there."""
    try:
        json.loads(piece)
    except ValueError:
        return False
    return True
