"""The tracebacks of Python in the end of a log, and the errors that they end with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TRACEBACK = "Traceback (most recent call last)"
"""The first line of a traceback."""

_ERROR = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: .*|$)")
"""The line with which a traceback ends: the name of the exception, and its message."""


@dataclass(frozen=True)
class Traceback:
    """A traceback and its error."""

    text: str
    """Its lines after the first one, and what other threads have printed in between."""
    error: str
    """The line with the exception."""
    line: int
    """The number of that line in the log, counted from 1."""


def read_tracebacks(end_of_log: str, lines: int) -> Iterator[Traceback]:
    """Yield the tracebacks of a log, of those that follow from each other each by itself.

    Args:
        end_of_log: The last lines of the log.
        lines: How many lines the log has.
    """
    last_lines = end_of_log.split("\n")
    before = lines - len(last_lines) + (not last_lines[-1])
    begin = None
    for number, line in enumerate(last_lines, 1):
        if TRACEBACK in line:
            begin = number
        elif begin and _ERROR.match(line):
            text = "\n".join(last_lines[begin:number])
            yield Traceback(text, line.strip(), before + number)
            begin = None
