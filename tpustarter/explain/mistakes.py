"""What a traceback says where the program itself is wrong: the rows of `mistakes.yml`.

They are asked only where no failure of a TPU is known to match.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter import rows
from tpustarter.problem import Problem

FILE = Path(__file__).with_name("mistakes.yml")

_FRAME = re.compile(
    r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<name>\S+))?.*\n'
    r'(?P<code>(?! *File ")  .*)?',
    re.MULTILINE,
)
_OTHERS = re.compile(r"site-packages|dist-packages|/lib/python3[.\d]*/|^<frozen|\.pyenv/versions/")
"""Files of which nobody who reads the traceback wrote a line."""

_SAYS_SO = re.compile(r"^exception: (?=\w+Error\b)")
"""What a block or a check says before the name of an exception."""


@dataclass(frozen=True)
class Mistake:
    """One kind of mistake in a program."""

    error: re.Pattern[str]
    """Found in the last line of the traceback."""
    means: str
    fix: str = ""
    """Empty where `means` says it, too."""
    read: str = ""
    """The lesson that teaches it, `track/id`; empty where there is none."""
    source: str = ""
    anywhere: bool = False
    """Whether it is the program's mistake also where a line of a package has raised it."""
    title: str = ""
    """Of the lesson whose own words these are; empty for a row of `mistakes.yml`."""
    general: bool = False
    """Whether more is known of an error that has a row of its own in a lesson."""
    raised_in: re.Pattern[str] | None = None
    """Found in the file that raised it, where the same words have another cause elsewhere."""


@dataclass(frozen=True)
class Found:
    """A mistake, as a log shows it."""

    mistake: Mistake
    error: str
    """The last line of the traceback."""
    place: str
    """The file and line of the program it names last; empty where it names none."""
    code: str
    """What stands in that line; empty where the traceback doesn't say."""


@functools.cache
def read(file: Path = FILE) -> tuple[Mistake, ...]:
    """Return the known mistakes; raises Problem for a row that cannot be used."""
    table: Any = rows.load(file)
    if not isinstance(table, list):
        raise Problem(f"`{file.name}` holds no list of mistakes")
    return tuple(
        rows.made(_made, row, str(number), file)
        for number, row in enumerate(cast("list[Any]", table), 1)
    )


def _made(fields: Mapping[str, Any]) -> Mistake:
    error = _pattern(fields, "error")
    raised_in = _pattern(fields, "raised_in") if "raised_in" in fields else None
    anywhere = rows.truth(fields, "anywhere", default=False)
    means, fix, source = (rows.text(fields, key) for key in ("means", "fix", "source"))
    general = rows.truth(fields, "general", default=False)
    read = rows.text(fields, "read", "")
    return Mistake(error, means, fix, read, source, anywhere, general=general, raised_in=raised_in)


def _pattern(fields: Mapping[str, Any], key: str) -> re.Pattern[str]:
    try:
        return re.compile(rows.text(fields, key))
    except re.error as problem:
        raise ValueError(f"its `{key}` is no pattern: {problem}") from problem


def find(last_error: str, end_of_log: str, taught: Iterable[Mistake] = ()) -> Found | None:
    """Return the mistake that ended a program; None where its last error is none of them.

    A package that breaks in a line of its own, by another version of what it uses or without a
    TPU, may raise a KeyError as well: that says nothing of the program.

    Args:
        last_error: The last line of the log that looks like an error.
        end_of_log: Where its traceback stands.
        taught: What lessons say of errors; asked before the rows that hold for many.
    """
    general = [one for one in read() if one.general]
    rows = [*(one for one in read() if not one.general), *taught, *general]
    traceback = end_of_log.rpartition("Traceback (most recent call last)")[2]
    # A package that says itself that it has no such attribute does so for the line that asked.
    frames = [frame for frame in _FRAME.finditer(traceback) if frame["name"] != "__getattr__"]
    raiser = frames[-1]["file"] if frames else ""
    mistake = next((one for one in rows if _fits(one, last_error, raiser)), None)
    if mistake is None:
        return None
    own = [frame for frame in frames if not _OTHERS.search(frame["file"])]
    if frames and frames[-1] not in own and not mistake.anywhere:
        return None
    place, code = _place(own)
    return Found(mistake, _SAYS_SO.sub("", last_error), place, code)


def own_line(end_of_log: str) -> str:
    """Return the line of the program that the last traceback names; empty where it names none.

    Args:
        end_of_log: Where the traceback stands.
    """
    _, begin, traceback = end_of_log.rpartition("Traceback (most recent call last)")
    frames = list(_FRAME.finditer(traceback)) if begin else []
    place, code = _place([frame for frame in frames if not _OTHERS.search(frame["file"])])
    return ": ".join(filter(None, (place, code)))


def _place(own: list[re.Match[str]]) -> tuple[str, str]:
    """Return file and line of the last frame of the program, and what stands there."""
    if not own:
        return "", ""
    place = f"{Path(own[-1]['file']).name}, line {own[-1]['line']}"
    return place, (own[-1]["code"] or "").strip()


def _fits(mistake: Mistake, last_error: str, raiser: str) -> bool:
    is_there = mistake.raised_in is None or mistake.raised_in.search(raiser)
    return bool(is_there and mistake.error.search(last_error))
