"""Tracebacks for learners, without frames inside packages and with Python's carets aligned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tpustarter.text import phrases

_BEGIN = "Traceback (most recent call last)"
_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line \d+')
_PACKAGE = re.compile(r"(?:site|dist)-packages[\\/](?P<name>[^\\/]+)")
_MARKS = re.compile(r" {4,}[~^][~^ ]*$")
"""Python's carets below a line of code."""
_DOTS = "..."


def fold_installed_calls(text: str) -> str:
    """Replace each run of frames inside installed packages with one line.

    Below the learner's own line, a traceback follows the path through JAX or PyTorch to the line
    that raises. That is most of its length, and does not help to find the mistake.
    """
    return "\n".join(_folded(text.split("\n"))) if _BEGIN in text else text


def _folded(lines: Sequence[str]) -> Iterator[str]:
    packages: list[str] = []  # one for each omitted frame
    is_inside = False
    for line in lines:
        if frame := _FRAME.match(line):
            is_inside = bool(package := _PACKAGE.search(frame["file"]))
            if package:
                packages.append(package["name"].removesuffix(".py"))
        elif is_inside and not line.startswith("    "):
            is_inside = False
        if not is_inside and packages:
            yield _left_out(packages)
            packages = []
        if not is_inside:
            yield line
    if packages:
        yield _left_out(packages)


def _left_out(packages: Sequence[str]) -> str:
    names = phrases.join_words(dict.fromkeys(packages))
    return f"  ... {phrases.format_count(len(packages), 'call')} inside {names} ..."


def shorten_code(text: str, width: int) -> str:
    """Shorten the code lines of a traceback to a width, keeping Python's carets aligned.

    A longer line of code is cut to the marked part and its surroundings; other lines are unchanged.
    """
    return "\n".join(_shortened(text.split("\n"), width))


def _shortened(lines: Sequence[str], width: int) -> Iterator[str]:
    skipped = False
    for line, marks in zip(lines, [*lines[1:], ""], strict=True):
        if skipped:
            skipped = False
        elif _MARKS.match(marks) and line.startswith("    ") and max(len(line), len(marks)) > width:
            yield from _around_marks(line.rstrip(), marks, width)
            skipped = True
        else:
            yield line


def _around_marks(line: str, marks: str, width: int) -> Iterator[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    code, marks = line.lstrip(), marks[len(indent) :]
    indent = indent[:4]
    room = max(width - len(indent) - 2 * len(_DOTS), 8)
    first, last = len(marks) - len(marks.lstrip()), len(marks)
    spare = max(room - (last - first), 0) // 2
    # A caret may be beyond the end of a line, if something is missing there.
    begin = max(min(first - spare, max(len(code), last) - room), 0)
    end = begin + room
    left = _DOTS if begin else ""
    yield f"{indent}{left}{code[begin:end]}{_DOTS if end < len(code) else ''}"
    yield f"{indent}{' ' * len(left)}{marks[begin:end]}".rstrip()
