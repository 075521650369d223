"""Recognise mistakes in a program by its traceback's error, with the rows of `mistakes.yml`.

They are consulted only if no known failure of a TPU matches.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.yaml_rows import Text
from tpustarter.explain import known_failures, library_errors, program_python
from tpustarter.explain.tracebacks import Traceback
from tpustarter.machine import pip_command

FILE = Path(__file__).with_name("mistakes.yml")
_SAYS_SO = re.compile(r"^exception: (?=\w+Error\b)")
"""Prefix of an exception in a block's or check's output."""


class ProgramMistake(msgspec.Struct, frozen=True, kw_only=True):
    """A known kind of mistake in a program."""

    error: re.Pattern[str]
    """Searched for in the traceback's last line."""
    means: Text
    fix: str = ""
    """Empty if `means` includes it."""
    command: str = ""
    """The first command to run, with PYTHON and groups of `error` filled in; often empty."""
    read: str = ""
    """The lesson that teaches it, as `track/id`, if any."""
    source: str = ""
    anywhere: bool = False
    """True if it is the program's mistake even when a package's line raised the error."""
    component: str = ""
    """The software component whose errors these are, which takes precedence over the library whose
    Python called it. Empty for a mistake."""
    title: str = ""
    """The title of the lesson that it comes from; empty for a row of `mistakes.yml`."""
    general: bool = False
    """True if a lesson's row for the same error takes precedence."""
    line: re.Pattern[str] | None = None
    """Searched for in the line that raised the error, if the same words have another cause
    elsewhere."""
    raised_in: re.Pattern[str] | None = None
    """Searched for in the path of the file that raised the error, if the same words have another
    cause elsewhere."""


class _FileMistake(ProgramMistake, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `mistakes.yml`, which requires a fix and a source."""

    def __post_init__(self) -> None:
        for name in ("fix", "source"):
            if not getattr(self, name):
                raise ValueError(f"it has no `{name}`")


@dataclass(frozen=True)
class FoundMistake:
    """A mistake that a log shows."""

    mistake: ProgramMistake
    error: str
    """The traceback's last line."""
    place: str
    """The program's last file and line in the traceback, if any."""
    code: str
    """The code on that line; empty if the traceback lacks it."""
    command: str = ""
    """The first advice, if any: a command, or a sentence if the user's Python is unknown."""
    is_own: bool = False
    """True if the program's own file, not a library, raised the error."""


@functools.cache
def read_program_mistakes(file: Path = FILE) -> tuple[ProgramMistake, ...]:
    """Read the known mistakes; raise Problem if a row is invalid."""
    return yaml_rows.read_rows(file, _FileMistake, _pattern)


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
    """Return the known mistake that explains a program's last error, or None.

    An error raised in a package's own code is not blamed on the program, unless the mistake has
    `anywhere` set. A KeyError there, for example, may be due to a dependency's version or a missing
    TPU.

    Args:
        last_error: The last line of the log that looks like an error.
        traceback: The traceback of that error.
        taught: The mistakes that lessons explain. They are tried before the rows of `mistakes.yml`
            that are general or name a component.
        python: The user's interpreter command; empty if unknown.
    """
    known = read_program_mistakes()
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
    rows = [one for one in read_program_mistakes() if one.component and not one.raised_in]
    mistake = next((one for one in rows if one.error.search(last_error)), None)
    if mistake is None:
        return None
    command = pip_command.format_pip_command(program_python.fill_in_python(mistake.command, python))
    return FoundMistake(mistake, last_error, "", "", command)


def _fits(mistake: ProgramMistake, last_error: str, raiser: str, line: str) -> bool:
    is_there = mistake.raised_in is None or mistake.raised_in.search(raiser)
    is_that = mistake.line is None or mistake.line.search(line)
    return bool(is_there and is_that and mistake.error.search(last_error))
