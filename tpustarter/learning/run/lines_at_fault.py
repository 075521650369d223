"""The lines of the learner's code that a verdict is about."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text, escape_text

TO_CHANGE = re.compile(
    r"# (?:change|fill|fix|instead of|rewrite|your code (?:here|instead)|and (?:here|this))\b",
    re.IGNORECASE,
)
"""Comments that mark a line for the learner to change."""
_MOST_CODE = 100
"""Maximum characters of a line of code in a sentence."""


@dataclass(frozen=True)
class FaultyLines:
    """Lines of the learner's code that are at fault, keyed by their numbers in the file."""

    numbers: tuple[int, ...]
    words: str
    """`line 7: x = x + 1`, or `you changed lines 7 to 9`."""


def find_raising_line(code: str, numbers: Sequence[int]) -> FaultyLines | None:
    """Return the line of the learner's code that raised an error.

    Args:
        code: The learner's code, from the first line of its file.
        numbers: The lines in the error's traceback, innermost first.
    """
    lines = code.split("\n")
    own = (number for number in numbers if 0 < number <= len(lines) and lines[number - 1].strip())
    number = next(own, None)
    return FaultyLines((number,), _with_code(number, lines)) if number else None


def find_differing_rows(code: str, answer: str) -> list[range]:
    """Return the rows of some code that differ from its answer, from top to bottom.

    An empty range marks where the answer has additional rows.
    """
    from difflib import SequenceMatcher  # only needed for tasks

    lines, others = code.rstrip().split("\n"), answer.rstrip().split("\n")
    operations = SequenceMatcher(None, lines, others, autojunk=False).get_opcodes()
    return [range(first, last) for kind, first, last, *_ in operations if kind != "equal"]


def find_changed_lines(code: str, shipped: str) -> FaultyLines | None:
    """Return the lines that the learner changed, or the first one left to change, or None."""
    from difflib import SequenceMatcher  # only needed for wrong answers

    lines, former = code.rstrip().split("\n"), shipped.rstrip().split("\n")
    operations = SequenceMatcher(None, former, lines, autojunk=False).get_opcodes()
    numbers = tuple(
        number + 1
        for kind, _, _, begin, end in operations
        if kind in ("replace", "insert")
        for number in range(begin, end)
        if lines[number].strip()
    )
    marked = [number for number, line in enumerate(former, 1) if TO_CHANGE.search(line)]
    left = [
        number + begin - first
        for kind, first, last, begin, _ in operations
        if kind == "equal"
        for number in marked
        if first < number <= last
    ]
    if numbers and 0 < len(left) < len(marked):
        return FaultyLines((left[0],), f"still to change is {_with_code(left[0], lines)}")
    if len(numbers) == 1:
        # A comment such as `# change this` would read as a verdict on the code before it.
        without = [_without_comment(line) for line in lines]
        return FaultyLines(numbers, f"you changed {_with_code(numbers[0], without)}")
    if numbers:
        return FaultyLines(numbers, f"you changed lines {_ranges(numbers)}")
    if not left or any(kind != "equal" for kind, *_ in operations):
        return None
    return FaultyLines((left[0],), f"yours to change is {_with_code(left[0], lines)}")


def _with_code(number: int, lines: Sequence[str]) -> str:
    return f"line {number}: {cut_text(escape_text(lines[number - 1].strip()), _MOST_CODE)}"


def _without_comment(line: str) -> str:
    """Return a line of code without its comment; a line with only a comment is unchanged."""
    import tokenize  # only needed for wrong answers

    code = line.strip()
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT and token.start[1]:
                return code[: token.start[1]].rstrip()
    return line


def _ranges(numbers: Sequence[int]) -> str:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    words = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    return phrases.join_words(words)
