"""Mistakes in a program by the error of its traceback: the rows of `mistakes.yml`.

They are consulted only where no known failure of a TPU matches.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.json_values import is_array
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text
from tpustarter.explain import known_failures
from tpustarter.machine import pip

FILE = Path(__file__).with_name("mistakes.yml")
TRACEBACK = "Traceback (most recent call last)"
"""The first line of a traceback."""
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:: .*|$)")
"""The line with which a traceback ends: the name of the exception, and its message."""

_FRAME = re.compile(
    r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>\S+))?.*\n'
    r'(?P<code>(?! *File ")  .*)?',
    re.MULTILINE,
)
_OTHERS = re.compile(r"site-packages|dist-packages|/lib/python3[.\d]*/|^<frozen|\.pyenv/versions/")
"""Files of Python and of packages, which the reader of a traceback did not write."""

_SAYS_SO = re.compile(r"^exception: (?=\w+Error\b)")
"""The prefix of an exception in the output of a block or a check."""


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """A known kind of mistake in a program."""

    error: re.Pattern[str]
    """Searched in the last line of the traceback."""
    means: Text
    fix: str = ""
    """Empty where `means` says it, too."""
    command: str = ""
    """The first command to type, with PYTHON and groups of `error` to fill in; often empty."""
    read: str = ""
    """The lesson that teaches it, `track/id`; empty where there is none."""
    source: str = ""
    anywhere: bool = False
    """It is the program's mistake also where a line of a package has raised the error."""
    title: str = ""
    """The title of the lesson that it comes from; empty for a row of `mistakes.yml`."""
    general: bool = False
    """Whether more is known of an error that has a row of its own in a lesson."""
    line: re.Pattern[str] | None = None
    """Found in the line that raised it, where the same words have another cause elsewhere."""
    raised_in: re.Pattern[str] | None = None
    """Searched in the file that raised the error, where the same words have another cause
    elsewhere."""


class _FileMistake(Mistake, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `mistakes.yml`, which has a fix and a source."""

    def __post_init__(self) -> None:
        for name in ("fix", "source"):
            if not getattr(self, name):
                raise ValueError(f"it has no `{name}`")


@dataclass(frozen=True)
class FoundMistake:
    """A mistake that a log shows."""

    mistake: Mistake
    error: str
    """The last line of the traceback."""
    place: str
    """The last file and line of the program that the traceback names; empty where it names none."""
    code: str
    """The code of that line; empty where the traceback lacks it."""
    command: str = ""
    """The first command to type on this machine; empty for none."""


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
        elif begin and _RAISED.match(line):
            text = "\n".join(last_lines[begin:number])
            yield Traceback(text, line.strip(), before + number)
            begin = None


@functools.cache
def read_mistakes(file: Path = FILE) -> tuple[Mistake, ...]:
    """Read the known mistakes; raise Problem for a row that cannot be used."""
    table = yaml_rows.load(file)
    if not is_array(table):
        raise Problem(f"`{file.name}` holds no list of mistakes")
    return tuple(
        yaml_rows.convert_row(row, _FileMistake, str(number), file, _pattern)
        for number, row in enumerate(table, 1)
    )


def _pattern(_: type, value: Any) -> re.Pattern[str]:
    try:
        return re.compile(value)
    except TypeError as problem:
        raise ValueError("expected a pattern") from problem
    except re.error as problem:
        raise ValueError(f"it is no pattern: {problem}") from problem


def find_mistake(
    last_error: str, end_of_log: str, taught: Iterable[Mistake] = (), *, python: str = "python3"
) -> FoundMistake | None:
    """Return the mistake that ended a program; None where its last error is none of them.

    A package that breaks in a line of its own, by another version of what it uses or without a TPU,
    may raise a KeyError as well. That is no evidence against the program.

    Args:
        last_error: The last line of the log that looks like an error.
        end_of_log: Where its traceback stands.
        taught: What lessons say of errors; asked before the rows that hold for many.
        python: How the user's interpreter is started.
    """
    general = [one for one in read_mistakes() if one.general]
    rows = [*(one for one in read_mistakes() if not one.general), *taught, *general]
    traceback = end_of_log.rpartition(TRACEBACK)[2]
    # A `__getattr__` that raises does so because of the line that asked for the attribute.
    frames = [frame for frame in _FRAME.finditer(traceback) if frame["name"] != "__getattr__"]
    raiser = frames[-1]["file"] if frames else ""
    line = (frames[-1]["code"] or "").strip() if frames else ""
    own = [frame for frame in frames if not _OTHERS.search(frame["file"])]
    is_own = not frames or frames[-1] in own
    fitting = (one for one in rows if _fits(one, last_error, raiser, line))
    mistake = next((one for one in fitting if is_own or one.anywhere), None)
    if mistake is None:
        return None
    place, code = _place(own)
    found = mistake.error.search(last_error)
    values = {"PYTHON": python} | (found.groupdict() if found else {})
    command = pip.format_pip_command(known_failures.fill_placeholders(mistake.command, values))
    return FoundMistake(mistake, _SAYS_SO.sub("", last_error), place, code, command)


def find_program_line(end_of_log: str) -> str:
    """Return the line of the program that the last traceback names; empty where it names none.

    Args:
        end_of_log: The end of the log, with the traceback.
    """
    _, begin, traceback = end_of_log.rpartition(TRACEBACK)
    frames = list(_FRAME.finditer(traceback)) if begin else []
    place, code = _place([frame for frame in frames if not _OTHERS.search(frame["file"])])
    return ": ".join(filter(None, (place, code)))


def _place(own: list[re.Match[str]]) -> tuple[str, str]:
    if not own:
        return "", ""
    place = f"{Path(own[-1]['file']).name}, line {own[-1]['line']}"
    return place, (own[-1]["code"] or "").strip()


def _fits(mistake: Mistake, last_error: str, raiser: str, line: str) -> bool:
    is_there = mistake.raised_in is None or mistake.raised_in.search(raiser)
    is_that = mistake.line is None or mistake.line.search(line)
    return bool(is_there and is_that and mistake.error.search(last_error))
