"""A single-pass search of a log for the signs of known failures.

RE2 searches for the beginnings of all patterns at once, in time linear in the log's size, and then
for the whole patterns where one of them begins. A pattern that was found often enough is dropped
from the search, so that a log that repeats one warning a million times costs no more than another.
The parts of a log that are kept contain no secrets: whole lines are redacted before they are cut,
because half a secret has no recognisable form.
"""

from __future__ import annotations

import functools
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any, Literal

from tpustarter.core.redact import Redactor, drop_incomplete_line, drop_incomplete_word
from tpustarter.explain import log_reader
from tpustarter.explain.known_failures import (
    KnownFailure,
    generalise_pattern,
    read_harmless_lines,
)

Pattern = Any
"""A google-re2 pattern or set of patterns, which is untyped."""
Clean = Callable[[str], str]
"""Redacts the secrets in a text."""
Part = Literal["shows", "suggests", "unless", "needs"]

OFTEN = 8
"""Matches of a pattern that are recorded; further ones add nothing."""
_CONDITIONS = ("unless", "needs")
"""Parts of which one match says everything, and is not quoted."""
WASTED = 500
"""Lines examined without a match before frequent patterns are dropped: about the cost of compiling
the others."""
IN_VAIN = 50
"""Times that a pattern may begin without matching before its whole is searched for."""
MOST_IN_LINE = 50
"""Most times that one line is examined before the rest of it is skipped."""
WINDOW = 2_000
"""Bytes from the beginning of a line within which a pattern must end, for messages of several
lines."""
TAIL_BYTES = 48 << 10
"""Bytes kept from the end of a log, because a run fails at its end."""
QUOTED = 300
_MEMORY = 256 << 20
"""Memory limit for a search for many patterns, in bytes; it uses about a tenth."""
_BEGINNING = 12
"""Least letters of a pattern's beginning. RE2 compiles these in a fifth of the time that it needs
for whole patterns, and keeps fewer states."""
_FEWEST = 4
"""Letters that a pattern needs before its first gap, without which all of it is searched for."""
_GAP = re.compile(r"(?<!\\)\.[*+{]|\][*+]|\]\{\d*,\d\d")
"""Parts of a pattern that may match long texts, such as `.*`. RE2 keeps a state for each set of
open gaps, so patterns with gaps are searched for apart from the others."""
_TOKEN = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?[a-z]*:|\{[\d,]+\}|.", re.DOTALL
)
"""An element of a pattern, a parenthesis, or a quantifier."""


@dataclass(frozen=True)
class FailureSign:
    """A match of a failure's pattern in a log."""

    pattern: str
    line: int
    """Line number, counted from 1."""
    quote: str
    """The line, or the text around the match if the line is long; empty for a condition."""
    values: dict[str, str] = field(default_factory=dict[str, str])
    """The values of the pattern's named groups."""


@dataclass
class FoundFailure:
    """A failure found in a log, with the lines that show it."""

    signs: dict[Part, list[FailureSign]] = field(default_factory=dict[Part, "list[FailureSign]"])


@dataclass
class LogScan:
    """All failures' signs in a log."""

    seen: dict[str, FoundFailure]
    """The failures that have a sign, keyed by id."""
    lines: int
    last: str
    """The end of the log, at most `TAIL_BYTES` characters."""


@dataclass(frozen=True)
class _FailurePattern:
    failure: KnownFailure
    part: Part
    pattern: str
    """The generalised pattern."""


@dataclass(frozen=True)
class _Lines:
    """Lines of a log as written, or the text around a match if they are long."""

    text: str
    is_begun: bool
    """True if the text starts at the start of a line."""
    is_ended: bool
    """True if the text ends at the end of a line."""


@dataclass(frozen=True)
class _UnredactedSign:
    """A sign before redaction."""

    line: int
    lines: _Lines
    start: int
    """Approximate start of the match in the lines."""
    values: dict[str, str]


class FailureScanner:
    """A search for failures, whose patterns can be reused for several logs."""

    def __init__(self, failures: Sequence[KnownFailure], clean: Clean | None = None) -> None:
        """Generalise the patterns.

        Args:
            failures: The failures to search for.
            clean: Redacts secrets in the parts of a log that are kept; by default, secrets from
                this process's environment, e-mail addresses, projects, and the home folder's name.
        """
        self._clean = clean or Redactor(os.environ).redact_text
        self._patterns = [
            _FailurePattern(one, part, generalise_pattern(pattern))
            for one in failures
            for part in ("shows", "suggests", "unless", "needs")
            for pattern in getattr(one, part)
        ]

    def start_scan(self) -> IncrementalLogScanner:
        """Start scanning one log, and return the search that takes the log's chunks."""
        return IncrementalLogScanner(self._patterns, self._clean)

    def scan(self, stream: IO[bytes]) -> LogScan:
        """Search a whole log; raise OSError if it cannot be read."""
        one = self.start_scan()
        for chunk in log_reader.read_chunks(stream):
            one.feed(chunk)
        return one.finish()


@functools.cache
def compile_pattern(pattern: str) -> Pattern:
    """Compile one pattern for text or bytes, with the options of `_together`."""
    re2 = import_module("re2")
    options = re2.Options()
    options.case_sensitive = options.log_errors = False
    return re2.compile(pattern, options)


@functools.cache
def _harmless() -> Pattern:
    """Compile one pattern for all harmless lines."""
    return compile_pattern("|".join(f"(?:{one.pattern})" for one in read_harmless_lines()))


@functools.cache
def _begin(pattern: str) -> str:
    """Return enough of a pattern's beginning to search for, or all of it if it has no such part."""
    depth = letters = end = end_letters = 0
    is_complete = False
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if not depth and text == "|":
            return pattern
        if not is_complete:
            if not depth and text[0] not in "*+?{":
                end, end_letters = token.start(), letters
                is_complete = letters >= _BEGINNING
            is_complete = is_complete or _GAP.match(pattern, token.end() - 1) is not None
            letters += text.isalnum()
            if is_complete and "|" not in pattern:
                break
        depth += text.startswith("(") - (text == ")")
    return pattern[:end] if is_complete and end_letters >= _FEWEST else pattern


@functools.lru_cache(maxsize=2)
def _together(patterns: tuple[str, ...]) -> tuple[Pattern, tuple[Pattern, ...]]:
    """Compile many patterns into a set that finds which match, and searches that find where.

    Cached, because most logs are searched for all patterns from beginning to end.
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
    with_gaps = {one for one in patterns if _GAP.search(one)}
    groups = (set(patterns) - with_gaps, with_gaps)
    return which, tuple(
        re2.compile("|".join(f"(?:{one})" for one in sorted(group)), options)
        for group in groups
        if group
    )


class _EarliestMatch:
    """The earliest match of many patterns from a position on, and the longest one there."""

    def __init__(self, groups: Sequence[Pattern], data: bytes) -> None:
        self._data = data
        self._next: dict[Pattern, tuple[int, int] | None] = dict.fromkeys(groups, (-1, -1))
        """Each group's latest match; None if the rest has none."""

    def find_from(self, position: int) -> tuple[int, int] | None:
        for group, found in self._next.items():
            if found and found[0] < position:
                match = group.search(self._data, position)
                self._next[group] = match and match.span()
        spans = [found for found in self._next.values() if found]
        return min(spans, key=lambda span: (span[0], -span[1]), default=None)


class IncrementalLogScanner:
    """A search of one log that is still being received."""

    def __init__(self, patterns: Sequence[_FailurePattern], clean: Clean) -> None:
        self._patterns = patterns
        self._clean = clean
        self._open = list(range(len(patterns)))
        """Indices of the patterns still searched for."""
        self._wasted = 0
        """Lines examined without a match since the patterns were compiled."""
        self._in_vain: Counter[int] = Counter()
        """Number of times that each pattern began without matching."""
        self._last_line, self._in_line = 0, 0
        """The line examined last, and how often."""
        self._found: dict[int, list[_UnredactedSign]] = {}
        self._reader = log_reader.LogLines()
        self._lines = 0
        self._before = b""
        """The end of the previous piece, if that ended within a line."""
        self._last: deque[bytes] = deque()
        self._compile()

    def _compile(self) -> None:
        self._which, self._groups = _together(tuple(map(self._searched_text, self._open)))
        self._wasted = 0

    def _searched_text(self, number: int) -> str:
        pattern = self._patterns[number].pattern
        return pattern if self._in_vain[number] >= IN_VAIN else _begin(pattern)

    def feed(self, chunk: bytes) -> None:
        """Search the log's next bytes."""
        if piece := self._reader.feed(chunk):
            self._search(piece)

    def finish(self) -> LogScan:
        """Search the rest, and return the whole log's result."""
        if piece := self._reader.finish():
            self._search(piece)
        return self._result()

    def _search(self, piece: log_reader.LogPiece) -> None:
        data = piece.data
        counted, line = 0, piece.first_line
        position = 0
        search = _EarliestMatch(self._groups, data)
        while found := search.find_from(position):
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
            # The window held the rest of the line, unless the line is very long.
            position = max(begin + 1, min(end, start + first))
            if self._in_line >= MOST_IN_LINE:
                position = max(position, _end_of_line(data, position))
            if self._wasted >= WASTED:
                self._open = [one for one in self._open if not self._is_often(one)]
                self._compile()
                search = _EarliestMatch(self._groups, data)
        own = data[: piece.own]
        self._lines = piece.first_line + piece.lines - own.endswith(b"\n")
        self._before = b"" if own.endswith(b"\n") else (self._before + own)[-WINDOW:]
        self._keep(own)

    def _note(self, data: bytes, start: int, end: int, line: int) -> int:
        """Record the patterns that match in a window's first line, and return the line's length."""
        window = data[start:end]
        length = window.find(b"\n")
        length = len(window) if length < 0 else length
        matches: dict[int, re.Match[bytes]] = {}
        places: Sequence[int] = self._which.Match(window)
        for number in [self._open[place] for place in places]:
            if self._is_often(number):
                continue
            match = compile_pattern(self._patterns[number].pattern).search(window)
            if match and match.start() <= length:
                matches[number] = match
            else:
                self._in_vain[number] += 1
        if matches and _harmless().search(window[:length]):
            matches = {
                number: match
                for number, match in matches.items()
                if match.end() > length or self._patterns[number].part in _CONDITIONS
            }
        if not matches:
            self._wasted += 1
        else:
            last = start + max(match.end() for match in matches.values())
            lines, first = self._lines_of(data, start, last)
            for number, match in matches.items():
                values = {key: _text(value) for key, value in match.groupdict().items() if value}
                raw = _UnredactedSign(line, lines, start + match.start() - first, values)
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
        is_condition = self._patterns[number].part in _CONDITIONS
        return len(self._found.get(number, ())) >= (1 if is_condition else OFTEN)

    def _keep(self, data: bytes) -> None:
        kept = TAIL_BYTES + WINDOW
        self._last.append(data[-2 * kept :].replace(log_reader.BREAK, b"")[-kept:])
        while len(self._last) > 1 and sum(map(len, self._last)) - len(self._last[0]) >= kept:
            self._last.popleft()

    def _result(self) -> LogScan:
        seen: dict[str, FoundFailure] = {}
        clean = functools.cache(self._clean)  # one line may show many failures
        for number, found in sorted(self._found.items()):
            one = self._patterns[number]
            signs = [
                FailureSign(
                    one.pattern,
                    raw.line,
                    "" if one.part in _CONDITIONS else _quote(raw, one.pattern, clean),
                    {name: clean(value) for name, value in raw.values.items()},
                )
                for raw in found
            ]
            parts = seen.setdefault(one.failure.id, FoundFailure()).signs
            parts.setdefault(one.part, []).extend(signs)
        return LogScan(seen, self._lines, self._last_part())

    def _last_part(self) -> str:
        kept = b"".join(self._last)
        last = _text(kept[-(TAIL_BYTES + WINDOW) :])
        if len(kept) > TAIL_BYTES + WINDOW:
            last = drop_incomplete_line(last)
        last = self._clean(last)
        return last if len(last) <= TAIL_BYTES else drop_incomplete_line(last[-TAIL_BYTES:])


def _end_of_line(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    while end > 0 and data[end - 1 : end + 1] == log_reader.BREAK:
        end = data.find(b"\n", end + 1)
    return len(data) if end < 0 else end


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _quote(raw: _UnredactedSign, pattern: str, clean: Clean) -> str:
    text = clean(raw.lines.text).replace("\0", "")
    match = compile_pattern(pattern).search(text)
    start, end = match.span() if match else (min(raw.start, len(text)),) * 2
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    is_ended, line_end = (raw.lines.is_ended, len(text)) if line_end < 0 else (True, line_end)
    begin = max(line_start, start - QUOTED // 4)
    before, rest = text[begin:start], text[start : min(line_end, begin + QUOTED)]
    if begin > line_start or (not line_start and not raw.lines.is_begun):
        before = drop_incomplete_line(before)
    if begin + QUOTED < line_end or not is_ended:
        rest = rest[: end - start] + drop_incomplete_word(rest[end - start :])
    return " ".join((before + rest).split())
