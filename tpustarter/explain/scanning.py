"""Finds the signs of known failures in a log, in one pass.

All patterns are searched at once by RE2, whose time grows with the log and with nothing else. A
pattern that was found often enough is left out of the search, so a log that repeats one warning a
million times costs no more than another.
"""

from __future__ import annotations

import functools
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any, Literal, cast

from tpustarter.explain import reading
from tpustarter.explain.known import Failure, generalised

Part = Literal["shows", "suggests", "unless", "needs"]

OFTEN = 8
"""How often a pattern is looked up; what comes later only repeats it."""
WASTED = 500
"""Lines that are looked at for nothing before the patterns that were found often are left out."""
MOST_IN_LINE = 50
"""How often one line is looked at; what comes behind that in it is left out."""
WINDOW = 2_000
"""Bytes after the beginning of a line in which a pattern may end: a message of several lines."""
LAST = 48 << 10
"""Bytes of the end of a log that are kept, for a run dies at its end."""
QUOTED = 300
_MEMORY = 256 << 20
"""Bytes that the search of all patterns may use; it uses about a tenth."""


@dataclass(frozen=True)
class Sign:
    """A pattern of a failure, as it was found."""

    pattern: str
    line: int
    """The number of the line, counted from 1."""
    quote: str
    """The line, or what of a long line stands around the match."""
    values: dict[str, str] = field(default_factory=dict[str, str])
    """What the named groups of the pattern hold."""


@dataclass
class Seen:
    """What of one failure a log shows."""

    signs: dict[Part, list[Sign]] = field(default_factory=dict[Part, "list[Sign]"])


@dataclass
class Scan:
    """What a log shows."""

    seen: dict[str, Seen]
    """By the id of the failure; only those of which there is something."""
    lines: int
    last: str
    """The end of the log."""


@dataclass(frozen=True)
class _Searched:
    failure: Failure
    part: Part
    pattern: str
    """As it is searched."""


class Scanner:
    """Searches logs for failures; its patterns are compiled once."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self._searched = [
            _Searched(one, part, generalised(pattern))
            for one in failures
            for part in ("shows", "suggests", "unless", "needs")
            for pattern in getattr(one, part)
        ]

    def begin(self) -> Pass:
        """Return what takes one log, as it comes."""
        return Pass(self._searched)

    def scan(self, stream: IO[bytes]) -> Scan:
        """Return what a log shows; raises OSError where it cannot be read."""
        one = self.begin()
        for chunk in reading.chunks(stream):
            one.take(chunk)
        return one.end()


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


@functools.lru_cache(maxsize=2)
def _together(patterns: tuple[str, ...]) -> tuple[Any, Any]:
    """Return what says which of the patterns are in a text, and what finds where one of them is.

    Kept, since most logs are searched for all patterns from beginning to end.
    """
    re2 = cast("Any", import_module("re2"))  # it has no types
    options: Any = re2.Options()
    options.max_mem, options.case_sensitive = _MEMORY, False
    options.never_capture = options.longest_match = True
    options.log_errors = False
    which: Any = re2.Set.SearchSet(options)
    for pattern in patterns:
        which.Add(pattern)
    which.Compile()
    return which, re2.compile("|".join(f"(?:{one})" for one in patterns), options)


class Pass:
    """One log, searched while it comes."""

    def __init__(self, searched: Sequence[_Searched]) -> None:
        self._searched = searched
        self._open = list(range(len(searched)))
        """Which patterns are still searched."""
        self._wasted = 0
        """How many lines in a row were looked at for nothing but what was found often enough."""
        self._last_line, self._in_line = 0, 0
        """The line that was looked at last, and how often."""
        self._found: dict[int, list[Sign]] = {}
        self._reader = reading.Lines()
        self._lines = 0
        self._last: deque[bytes] = deque()
        self._compile()

    def _compile(self) -> None:
        patterns = tuple(self._searched[number].pattern for number in self._open)
        self._which, self._any = _together(patterns)
        self._wasted = 0

    def take(self, chunk: bytes) -> None:
        """Search the next bytes of the log."""
        if piece := self._reader.take(chunk):
            self._search(piece)

    def end(self) -> Scan:
        """Return what was found in the whole of it."""
        if piece := self._reader.end():
            self._search(piece)
        return self._result()

    def _search(self, piece: reading.Piece) -> None:
        data = piece.data
        counted, line = 0, piece.first_line
        position = 0
        while self._open and (match := self._any.search(data, position)):
            start = data.rfind(b"\n", 0, match.start()) + 1
            if match.start() >= piece.own:
                break
            line += data.count(b"\n", counted, start) - data.count(reading.BREAK, counted, start)
            counted = start
            end = data.find(b"\n", match.end())
            end = len(data) if end < 0 else end
            start = max(start, match.start() - WINDOW)
            window = data[start : min(max(end, start + WINDOW), start + 2 * WINDOW)]
            first = self._note(window, line)
            self._in_line = self._in_line + 1 if line == self._last_line else 1
            self._last_line = line
            # The rest of the line was in the window, unless it is a very long one.
            position = max(match.start() + 1, min(end, start + first))
            if self._in_line >= MOST_IN_LINE:
                position = max(position, _end_of_line(data, position))
            if self._wasted >= WASTED:
                self._open = [one for one in self._open if not self._is_often(one)]
                self._compile()
        own = data[: piece.own]
        self._lines = piece.first_line + piece.lines - own.endswith(b"\n")
        self._keep(own)

    def _note(self, window: bytes, line: int) -> int:
        """Write down which patterns begin in the first line of a window; return its length."""
        text = window.decode("utf-8", "replace")
        length = window.find(b"\n")
        length = len(window) if length < 0 else length
        in_line = len(text.split("\n", 1)[0])
        self._wasted += 1
        for place in cast("Iterable[int]", self._which.Match(window)):
            number = self._open[place]
            one = self._searched[number]
            if self._is_often(number):
                continue
            found = _compiled(one.pattern).search(text)
            if not found or found.start() > in_line:
                continue
            self._wasted = 0
            values = {key: value for key, value in found.groupdict().items() if value}
            sign = Sign(one.pattern, line, _quote(text, found), values)
            self._found.setdefault(number, []).append(sign)
        return length

    def _is_often(self, number: int) -> bool:
        return len(self._found.get(number, ())) >= OFTEN

    def _keep(self, data: bytes) -> None:
        self._last.append(data[-LAST:])
        while len(self._last) > 1 and sum(map(len, self._last)) - len(self._last[0]) >= LAST:
            self._last.popleft()

    def _result(self) -> Scan:
        seen: dict[str, Seen] = {}
        for number, signs in sorted(self._found.items()):
            one = self._searched[number]
            parts = seen.setdefault(one.failure.id, Seen()).signs
            parts.setdefault(one.part, []).extend(signs)
        last = b"".join(self._last)[-LAST:].decode("utf-8", "replace")
        return Scan(seen, self._lines, last)


def _end_of_line(data: bytes, position: int) -> int:
    """Return where a line ends that may have been broken."""
    end = data.find(b"\n", position)
    while end > 0 and data[end - 1 : end + 1] == reading.BREAK:
        end = data.find(b"\n", end + 1)
    return len(data) if end < 0 else end


def _quote(text: str, found: re.Match[str]) -> str:
    start = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    end = len(text) if end < 0 else end
    start = max(start, found.start() - QUOTED // 2)
    return " ".join(text[start : min(end, start + QUOTED)].replace("\0", "").split())
