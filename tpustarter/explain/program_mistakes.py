"""Mistakes in a program by the error of its traceback: the rows of `mistakes.yml`.

They are consulted only where no known failure of a TPU matches.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.json_values import is_array
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text
from tpustarter.explain import known_failures, library_errors, program_python
from tpustarter.explain.tracebacks import Traceback
from tpustarter.machine import pip_command

FILE = Path(__file__).with_name("mistakes.yml")
_SAYS_SO = re.compile(r"^exception: (?=\w+Error\b)")
"""The prefix of an exception in the output of a block or a check."""


class ProgramMistake(msgspec.Struct, frozen=True, kw_only=True):
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
    component: str = ""
    """The part of the software whose errors these are; it counts before the library whose Python
    called it. Empty for a mistake."""
    title: str = ""
    """The title of the lesson that it comes from; empty for a row of `mistakes.yml`."""
    general: bool = False
    """True if more is known of an error that has a row of its own in a lesson."""
    line: re.Pattern[str] | None = None
    """Found in the line that raised it, where the same words have another cause elsewhere."""
    raised_in: re.Pattern[str] | None = None
    """Searched in the file that raised the error, where the same words have another cause
    elsewhere."""


class _FileMistake(ProgramMistake, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `mistakes.yml`, which has a fix and a source."""

    def __post_init__(self) -> None:
        for name in ("fix", "source"):
            if not getattr(self, name):
                raise ValueError(f"it has no `{name}`")


@dataclass(frozen=True)
class FoundMistake:
    """A mistake that a log shows."""

    mistake: ProgramMistake
    error: str
    """The last line of the traceback."""
    place: str
    """The last file and line of the program that the traceback names; empty where it names none."""
    code: str
    """The code of that line; empty where the traceback lacks it."""
    command: str = ""
    """The first advice: a command, or a sentence where the user's Python is not known; empty for
    none."""
    is_own: bool = False
    """True if a file of the program raised the error, and no library did."""


@functools.cache
def read_mistakes(file: Path = FILE) -> tuple[ProgramMistake, ...]:
    """Read the known mistakes; raise Problem for a row that cannot be used."""
    table = yaml_rows.load_yaml(file)
    if not is_array(table):
        raise Problem(f"`{file.name}` holds no list of mistakes")
    return tuple(
        yaml_rows.convert_row(row, _FileMistake, str(number), file, _pattern)
        for number, row in enumerate(table, 1)
    )


def _pattern(_: type, value: object) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise ValueError("expected a pattern")
    try:
        return re.compile(value)
    except re.error as problem:
        raise ValueError(f"it is no pattern: {problem}") from problem


def find_mistake(
    last_error: str,
    traceback: Traceback,
    taught: Iterable[ProgramMistake] = (),
    *,
    python: str = "",
) -> FoundMistake | None:
    """Return the known mistake behind the last error of a program, or None.

    A package that breaks in a line of its own, by another version of what it uses or without a TPU,
    may raise a KeyError as well. That is no evidence against the program.

    Args:
        last_error: The last line of the log that looks like an error.
        traceback: Its traceback.
        taught: What lessons say of errors; asked before the rows that hold for many.
        python: The command of the user's interpreter; empty where it is not known.
    """
    known = read_mistakes()
    special = [one for one in known if not one.general and not one.component]
    components = [one for one in known if one.component]
    rows = [*special, *taught, *components, *(one for one in known if one.general)]
    frame = library_errors.find_raising_frame(traceback)
    raiser, line = (frame.file, frame.code) if frame else ("", "")
    is_own = frame is None or (library_errors.is_user_frame(frame) and not traceback.hides_jax)
    fitting = (one for one in rows if _fits(one, last_error, raiser, line))
    mistake = next((one for one in fitting if is_own or one.anywhere), None)
    if mistake is None:
        return None
    found = mistake.error.search(last_error)
    values = found.groupdict() if found else {}
    filled = known_failures.fill_placeholders(mistake.command, values)
    command = pip_command.format_pip_command(program_python.fill_in_python(filled, python))
    own = library_errors.find_last_user_frame(traceback)
    place, code = (own.place, own.code) if own else ("", "")
    error = _SAYS_SO.sub("", last_error)
    return FoundMistake(mistake, error, place, code, command, is_own and frame is not None)


def find_failed_component(last_error: str, *, python: str = "") -> FoundMistake | None:
    """Return the cause and fix for the component that an error names, or None."""
    rows = [one for one in read_mistakes() if one.component and not one.raised_in]
    mistake = next((one for one in rows if one.error.search(last_error)), None)
    if mistake is None:
        return None
    command = pip_command.format_pip_command(program_python.fill_in_python(mistake.command, python))
    return FoundMistake(mistake, last_error, "", "", command)


def _fits(mistake: ProgramMistake, last_error: str, raiser: str, line: str) -> bool:
    is_there = mistake.raised_in is None or mistake.raised_in.search(raiser)
    is_that = mistake.line is None or mistake.line.search(line)
    return bool(is_there and is_that and mistake.error.search(last_error))
