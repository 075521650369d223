"""Split the labelled output of a command that runs every host into lines per host.

Labels mark chunks, not lines. `srun --label` cuts a line after 1024 bytes, and continues it on a
new line with the same label. Open MPI labels each chunk that it has read, even in the middle of a
line, so one line may contain chunks from several hosts.
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
    """The labels that an engine, such as Slurm, puts on the output of each host."""

    pattern: re.Pattern[bytes]
    """A label; its first group is the host's number."""
    within: bool = False
    """True if a label may also be in the middle of a line."""
    wrap: int | None = None
    """Bytes after the label at which a line is cut and continued on the next one."""


class HostLineSplitter:
    """Splits one stream into lines by host."""

    def __init__(self, labels: LabelFormat, limit: int) -> None:
        """Take the label format, and the maximum length of a line in bytes."""
        self._labels = labels
        self._limit = limit
        self._pending = b""
        self._lines: dict[int | None, LineSplitter] = {}

    def feed(self, data: bytes) -> Generator[tuple[int | None, str], None, None]:
        """Yield the lines that are now complete; the host is None for lines without a label."""
        *whole, self._pending = (self._pending + data).split(b"\n")
        for line in whole:
            yield from self._split(line, b"\n")
        if len(self._pending) > self._limit:
            pending, self._pending = self._pending, b""
            yield from self._split(pending, b"")

    def take_rest(self) -> Generator[tuple[int | None, str], None, None]:
        """Yield each host's text after its last newline."""
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
            last = end if not matches else b"\n"  # unlabelled text is no part of a host's line
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
    """Return whether a line of the maximum length is complete rather than cut."""
    try:
        json.loads(piece)
    except ValueError:
        return False
    return True
