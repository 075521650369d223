"""The expected output of a block, and its comparison with the actual output.

Numbers may differ within a tolerance, and `...` matches anything.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MAX_SHOWN = 200
"""Maximum characters of a differing line that are shown."""

NO_FURTHER = "no further line"
"""The expectation if more was printed."""


@dataclass(frozen=True)
class ExpectedOutput:
    """The expected output of a block on one kind of device."""

    text: str
    platform: str
    """`cpu`, `tpu`, `gpu`, or `any`."""
    rtol: float | None
    """Relative tolerance of its numbers; None to compare them as text."""
    line: int
    """Line number of the fence in the lesson's file."""
    label: str = ""
    """The lesson's label for it, such as `On a TPU, as reported in 2022`."""
    allows_more: bool = False
    """True if other lines may be between its lines, because the learner has changed the code."""

    @property
    def platform_text(self) -> str:
        """Return the words after "expected", such as ` on a TPU`, or "" if it holds anywhere."""
        if self.label:
            return f" {self.label[0].lower()}{self.label[1:]}"
        return "" if self.platform == "any" else f" on a {self.platform.upper()}"


@dataclass(frozen=True)
class OutputDifference:
    """The first line of an output that differs from the expected output."""

    number: int
    """Line number, from 1."""
    printed: str | None
    """The printed line; None if fewer lines were printed."""
    expected: str | None
    """The expected line; None if no further line was expected."""
    rtol: float | None
    """Relative tolerance of its numbers; None if they are compared as text."""
    lines: int
    """The number of lines of the longer text."""
    is_only: bool
    """True if no other line differs."""
    prints_nothing: bool = False
    """True if nothing but empty lines was printed."""

    @property
    def absence(self) -> str:
        """Return the phrase shown if a line was not printed."""
        return "nothing" if self.prints_nothing else "no such line"

    @property
    def words(self) -> str:
        """Return the difference as one line, such as "line 2: found `4`, expected `5`"."""
        found = f"found {self.absence if self.printed is None else f'`{self.printed}`'}"
        expected = NO_FURTHER if self.expected is None else f"`{self.expected}`"
        within = f" within rtol {self.rtol:g}" if self.rtol else ""
        return f"line {self.number}: {found}, expected {expected}{within}"


def describe_mismatch(expected: ExpectedOutput, printed: str) -> str | None:
    """Return a sentence about the first differing line, or None if the output is as expected."""
    difference = find_first_difference(expected, printed)
    return difference.words if difference else None


def find_first_difference(expected: ExpectedOutput, printed: str) -> OutputDifference | None:
    """Return the first differing line, or None if the output is as expected.

    `...` matches anything within a line; a line that is only `...` matches any number of lines.
    """
    expected_lines, actual_lines = _text_lines(expected.text), _text_lines(printed)
    if expected.allows_more:
        return _first_missing(expected, expected_lines, actual_lines)
    # After `...` the next line may match at several positions, so all of them are tracked.
    positions = {0}
    for line in expected_lines:
        if line.strip() == "...":
            positions = set(range(min(positions), len(actual_lines) + 1))
            continue
        next_positions = {
            n + 1
            for n in positions
            if n < len(actual_lines) and _matches(line, actual_lines[n], expected.rtol)
        }
        if not next_positions:
            return _describe(expected, actual_lines, min(positions), line)
        positions = next_positions
    if len(actual_lines) in positions:
        return None
    return _describe(expected, actual_lines, max(positions), None)


def _first_missing(
    expected: ExpectedOutput, wanted: list[str], lines: list[str]
) -> OutputDifference | None:
    """Return the first expected line that is not printed after the ones before it."""
    position = 0
    for number, line in enumerate(wanted, 1):
        if line.strip() == "...":
            continue
        rest = range(position, len(lines))
        found = next((n for n in rest if _matches(line, lines[n], expected.rtol)), None)
        if found is None:
            longer = max(len(lines), len(wanted))
            return OutputDifference(
                number,
                None,
                _shorten(line),
                expected.rtol,
                longer,
                is_only=False,
                prints_nothing=not lines,
            )
        position = found + 1
    return None


def list_missing_lines(expected: ExpectedOutput, printed: str) -> list[str]:
    """Return the expected lines that were not printed at the same position."""
    actual_lines = _text_lines(printed)
    return [
        line
        for number, line in enumerate(_text_lines(expected.text))
        if number >= len(actual_lines) or not _matches(line, actual_lines[number], expected.rtol)
    ]


def _text_lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")] if text.strip() else []


def _describe(
    expected: ExpectedOutput, lines: list[str], number: int, wanted: str | None
) -> OutputDifference:
    wanted_lines = _text_lines(expected.text)
    missing = list_missing_lines(expected, "\n".join(lines))
    return OutputDifference(
        number + 1,
        _shorten(lines[number]) if number < len(lines) else None,
        None if wanted is None else _shorten(wanted),
        None if wanted is None else expected.rtol,
        max(len(lines), len(wanted_lines)),
        is_only=len(missing) + max(len(lines) - len(wanted_lines), 0) == 1,
        prints_nothing=not lines,
    )


def _shorten(line: str) -> str:
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}..."


def _matches(expected: str, actual: str, rtol: float | None) -> bool:
    """Return whether a line matches; both come without trailing whitespace."""
    expected = expected if rtol is None else expected.strip()
    pattern = ".*?".join(_pattern(piece, rtol) for piece in expected.split("..."))
    actual = actual if rtol is None else actual.strip()
    match = re.fullmatch(pattern, f"{actual} " if expected.endswith("...") else actual)
    numbers = NUMBER.findall(expected) if rtol is not None else []
    return match is not None and all(
        math.isclose(float(number), float(actual_number), rel_tol=rtol or 0)
        for number, actual_number in zip(numbers, match.groups(), strict=True)
    )


def _pattern(piece: str, rtol: float | None) -> str:
    if rtol is None:
        return re.escape(piece)
    texts = NUMBER.split(piece)
    last = len(texts) - 1
    number = f"({NUMBER.pattern})"
    return number.join(
        _words_pattern(text, after_number=place > 0, before_number=place < last)
        for place, text in enumerate(texts)
    )


def _words_pattern(text: str, *, after_number: bool, before_number: bool) -> str:
    """Return a pattern for words that allows any space beside numbers, which arrays align."""
    any_spaces, some_spaces = r"\s*", r"\s+"
    words = some_spaces.join(map(re.escape, text.split()))
    if not words:
        return any_spaces if after_number or before_number else some_spaces * bool(text)
    left = any_spaces if after_number else some_spaces * text[0].isspace()
    right = any_spaces if before_number else some_spaces * text[-1].isspace()
    return left + words + right
