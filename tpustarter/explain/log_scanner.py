"""The search for signs of known failures in a log, in one pass.

RE2 searches all patterns at once, in a time that grows with the size of the log alone. A pattern
that was found often enough is left out of the search, so a log that repeats one warning a million
times costs no more than another.

The parts of a log that are kept hold no secrets: whole lines are cleaned before they are cut, since
half a secret has no shape by which it could be recognised.
"""

from __future__ import annotations

import functools
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any, Literal

from tpustarter.core.redact import Redactor, drop_incomplete_line, drop_incomplete_word
from tpustarter.explain import log_reader
from tpustarter.explain.known_failures import KnownFailure, generalise_pattern

Pattern = Any
"""A pattern or a set of patterns of google-re2, which has no types."""
Clean = Callable[[str], str]
"""Removes the secrets from a text."""
Part = Literal["shows", "suggests", "unless", "needs"]

OFTEN = 8
"""Matches of a pattern that are recorded; later ones only repeat them."""
WASTED = 500
"""Lines examined in vain before the patterns that were found often are left out: about the cost of
compiling the others."""
LONG = 1_000
"""Bytes of a line above which each pattern is searched alone: `.*` of many patterns together takes
ten times as long, because nothing closes the matches that have begun."""
MOST_IN_LINE = 50
"""Times that one line is examined; the rest of it is left out."""
WINDOW = 2_000
"""Bytes after the beginning of a line in which a pattern may end: a message of several lines."""
LAST = 48 << 10
"""Bytes of the end of a log that are kept, because a run fails at its end."""
QUOTED = 300
_MEMORY = 256 << 20
"""Bytes that a search of many patterns may use; it uses about a tenth."""
_GAP = re.compile(r"(?<!\\)\.[*+{]|\][*+]|\]\{\d*,\d\d")
"""Parts of a pattern that may match long texts, such as `.*`."""
_APART = 2
"""Searches among which the patterns with such gaps are divided: RE2 keeps a state for each set of
gaps that are open at once. Each search reads the log once more, so few are fast in ordinary logs;
long lines are broken, so that few are enough there, too."""


@dataclass(frozen=True)
class FailureSign:
    """A match of a failure's pattern in a log."""

    pattern: str
    line: int
    """Its number, counted from 1."""
    quote: str
    """The line; of a long one, the text around the match."""
    values: dict[str, str] = field(default_factory=dict[str, str])
    """The values of the pattern's named groups."""


@dataclass
class FoundFailure:
    """A failure found in a log, with the lines that show it."""

    signs: dict[Part, list[FailureSign]] = field(default_factory=dict[Part, "list[FailureSign]"])


@dataclass
class LogScan:
    """The signs of all failures in a log."""

    seen: dict[str, FoundFailure]
    """The failures that have a sign, by id."""
    lines: int
    last: str
    """The end of the log, of at most `LAST` characters."""


@dataclass(frozen=True)
class _Searched:
    failure: KnownFailure
    part: Part
    pattern: str
    """The generalised pattern."""


@dataclass(frozen=True)
class _Lines:
    """Lines of a log as they were written; of long ones, the text around a match."""

    text: str
    is_begun: bool
    """The text starts where a line starts."""
    is_ended: bool
    """The text ends where a line ends."""


@dataclass(frozen=True)
class _Raw:
    """A sign before it is cleaned."""

    line: int
    lines: _Lines
    start: int
    """About where the match begins in the lines."""
    values: dict[str, str]


class FailureScanner:
    """A search for failures, whose patterns can be used for several logs."""

    def __init__(self, failures: Sequence[KnownFailure], clean: Clean | None = None) -> None:
        """Generalise the patterns.

        Args:
            failures: The failures to search for.
            clean: Removes secrets from the parts of a log that are kept; by default, those of this
                process' environment, addresses of people, projects, and the name of the home
                folder.
        """
        self._clean = clean or Redactor(os.environ).redact_text
        self._searched = [
            _Searched(one, part, generalise_pattern(pattern))
            for one in failures
            for part in ("shows", "suggests", "unless", "needs")
            for pattern in getattr(one, part)
        ]

    def start_pass(self) -> LogSearch:
        """Begin the scan of one log, whose chunks are passed to the returned scan."""
        return LogSearch(self._searched, self._clean)

    def scan(self, stream: IO[bytes]) -> LogScan:
        """Search a whole log; raise OSError where it cannot be read."""
        one = self.start_pass()
        for chunk in log_reader.read_chunks(stream):
            one.feed(chunk)
        return one.finish()


@functools.cache
def _compiled(pattern: str) -> Pattern:
    """Compile one pattern for texts or bytes, with the options of `_together`."""
    re2 = import_module("re2")
    options = re2.Options()
    options.case_sensitive = options.log_errors = False
    return re2.compile(pattern, options)


@functools.lru_cache(maxsize=2)
def _together(patterns: tuple[str, ...]) -> tuple[Pattern, tuple[Pattern, ...]]:
    """Compile many patterns: the set that finds which ones match, and the searches that find where.

    Cached, since most logs are searched for all patterns from beginning to end.
    """
    re2 = import_module("re2")
    options = re2.Options()
    options.max_mem, options.case_sensitive = _MEMORY, False
    options.never_capture = options.longest_match = True
    options.log_errors = False
    which = re2.Set.SearchSet(options)
    for pattern in patterns:
        which.Add(pattern)
    which.Compile()
    with_gaps = [one for one in patterns if _GAP.search(one)]
    groups = [[one for one in patterns if not _GAP.search(one)]]
    groups += [with_gaps[number::_APART] for number in range(_APART)]
    return which, tuple(
        re2.compile("|".join(f"(?:{one})" for one in group), options) for group in groups if group
    )


class _Search:
    """A search of some data for the first match of many patterns, and the longest at that place."""

    def __init__(self, groups: Sequence[Pattern], data: bytes) -> None:
        self._data = data
        self._next: dict[Pattern, tuple[int, int] | None] = dict.fromkeys(groups, (-1, -1))
        """Where each group was found last; None where it is not in the rest."""

    def first(self, position: int) -> tuple[int, int] | None:
        for group, found in self._next.items():
            if found and found[0] < position:
                match = group.search(self._data, position)
                self._next[group] = match and match.span()
        spans = [found for found in self._next.values() if found]
        return min(spans, key=lambda span: (span[0], -span[1]), default=None)


class LogSearch:
    """The search of one log that is still arriving."""

    def __init__(self, searched: Sequence[_Searched], clean: Clean) -> None:
        self._searched = searched
        self._clean = clean
        self._open = list(range(len(searched)))
        """Numbers of the patterns that are still searched."""
        self._wasted = 0
        """How often lines were looked at for nothing since the patterns were compiled."""
        self._last_line, self._in_line = 0, 0
        """The line that was looked at last, and how often."""
        self._found: dict[int, list[_Raw]] = {}
        self._reader = log_reader.LogLines()
        self._lines = 0
        self._before = b""
        """The end of the piece before this one, where that ends within a line."""
        self._last: deque[bytes] = deque()
        self._compile()

    def _compile(self) -> None:
        patterns = tuple(self._searched[number].pattern for number in self._open)
        self._which, self._groups = _together(patterns)
        self._wasted = 0

    def feed(self, chunk: bytes) -> None:
        """Search the next bytes of a log."""
        if piece := self._reader.feed(chunk):
            self._search(piece)

    def finish(self) -> LogScan:
        """Search the rest, and return the result for the whole log."""
        if piece := self._reader.finish():
            self._search(piece)
        return self._result()

    def _search(self, piece: log_reader.LogPiece) -> None:
        data = piece.data
        counted, line = 0, piece.first_line
        position = 0
        search = _Search(self._groups, data)
        while found := search.first(position):
            begin, end = found
            start = data.rfind(b"\n", 0, begin) + 1
            if begin >= piece.own:
                break
            line += data.count(b"\n", counted, start) - data.count(log_reader.BREAK, counted, start)
            counted = start
            end = data.find(b"\n", end)
            end = len(data) if end < 0 else end
            start = max(start, begin - WINDOW)
            end_of_window = min(max(end, start + WINDOW), start + 2 * WINDOW)
            first = self._note(data, start, end_of_window, line)
            self._in_line = self._in_line + 1 if line == self._last_line else 1
            self._last_line = line
            # The rest of the line was in the window, unless it is a very long one.
            position = max(begin + 1, min(end, start + first))
            if self._in_line >= MOST_IN_LINE:
                position = max(position, _end_of_line(data, position))
            if self._wasted >= WASTED:
                self._open = [one for one in self._open if not self._is_often(one)]
                self._compile()
                search = _Search(self._groups, data)
        own = data[: piece.own]
        self._lines = piece.first_line + piece.lines - own.endswith(b"\n")
        self._before = b"" if own.endswith(b"\n") else (self._before + own)[-WINDOW:]
        self._keep(own.replace(log_reader.BREAK, b""))

    def _note(self, data: bytes, start: int, end: int, line: int) -> int:
        """Record the patterns that begin in the first line of a window, and return its length."""
        window = data[start:end]
        length = window.find(b"\n")
        length = len(window) if length < 0 else length
        matches: dict[int, re.Match[bytes]] = {}
        every: Iterable[int]
        every = range(len(self._open)) if length > LONG else self._which.Match(window)
        for place in every:
            number = self._open[place]
            one = self._searched[number]
            if self._is_often(number):
                continue
            match = _compiled(one.pattern).search(window)
            if match and match.start() <= length:
                matches[number] = match
        if not matches:
            self._wasted += 1
        else:
            last = start + max(match.end() for match in matches.values())
            lines, first = self._lines_of(data, start, last)
            for number, match in matches.items():
                values = {key: _text(value) for key, value in match.groupdict().items() if value}
                raw = _Raw(line, lines, start + match.start() - first, values)
                self._found.setdefault(number, []).append(raw)
        return length

    def _lines_of(self, data: bytes, start: int, end: int) -> tuple[_Lines, int]:
        before = (self._before if start < WINDOW else b"") + data[max(0, start - WINDOW) : start]
        head = before.replace(log_reader.BREAK, b"").rpartition(b"\n")[2][-WINDOW:]
        after = data[end : end + WINDOW].replace(log_reader.BREAK, b"")
        rest, line_end, _ = after.partition(b"\n")
        whole = head + data[start:end].replace(log_reader.BREAK, b"") + rest
        is_ended = bool(line_end) or end + WINDOW >= len(data)
        return _Lines(_text(whole), len(head) < WINDOW, is_ended), start - len(head)

    def _is_often(self, number: int) -> bool:
        return len(self._found.get(number, ())) >= OFTEN

    def _keep(self, data: bytes) -> None:
        kept = LAST + WINDOW
        self._last.append(data[-kept:])
        while len(self._last) > 1 and sum(map(len, self._last)) - len(self._last[0]) >= kept:
            self._last.popleft()

    def _result(self) -> LogScan:
        seen: dict[str, FoundFailure] = {}
        clean = functools.cache(self._clean)  # one line may show many failures
        for number, found in sorted(self._found.items()):
            one = self._searched[number]
            signs = [
                FailureSign(
                    one.pattern,
                    raw.line,
                    _quote(raw, _compiled(one.pattern), clean),
                    {name: clean(value) for name, value in raw.values.items()},
                )
                for raw in found
            ]
            parts = seen.setdefault(one.failure.id, FoundFailure()).signs
            parts.setdefault(one.part, []).extend(signs)
        return LogScan(seen, self._lines, self._last_part())

    def _last_part(self) -> str:
        kept = b"".join(self._last)
        last = _text(kept[-(LAST + WINDOW) :])
        if len(kept) > LAST + WINDOW:
            last = drop_incomplete_line(last)
        last = self._clean(last)
        return last if len(last) <= LAST else drop_incomplete_line(last[-LAST:])


def _end_of_line(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    while end > 0 and data[end - 1 : end + 1] == log_reader.BREAK:
        end = data.find(b"\n", end + 1)
    return len(data) if end < 0 else end


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _quote(raw: _Raw, pattern: Pattern, clean: Clean) -> str:
    text = clean(raw.lines.text).replace("\0", "")
    match = pattern.search(text)
    start, end = match.span() if match else (min(raw.start, len(text)),) * 2
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    is_ended, line_end = (raw.lines.is_ended, len(text)) if line_end < 0 else (True, line_end)
    begin = max(line_start, start - QUOTED // 2)
    before, rest = text[begin:start], text[start : min(line_end, begin + QUOTED)]
    if begin > line_start or (not line_start and not raw.lines.is_begun):
        before = drop_incomplete_line(before)
    if begin + QUOTED < line_end or not is_ended:
        rest = rest[: end - start] + drop_incomplete_word(rest[end - start :])
    return " ".join((before + rest).split())
