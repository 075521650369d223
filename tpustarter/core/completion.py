"""The words that may follow on a command line, for the shell's completion.

A shell asks at every press of the tab key, so click is not imported: that alone takes as long as
`--version`. The commands and options are rows of `completion.tsv`, which `tests/command_pages.py`
writes from click's own objects. Ids of checks, lessons and exercises are the names of their files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tpustarter.core import locations

INDEX = Path(__file__).with_suffix(".tsv")
FLAG, COMMAND, ANY = "-", ">", "*"
"""Kinds of a word: an option without a value, a command, and a value that only the user knows."""


class CompletionRow(NamedTuple):
    """A word that may follow a command, or the values of the command's argument."""

    command: str
    """The command that it follows, such as `tpu create`; empty for the program itself; or the name
    of a list, such as `@tpu`."""
    word: str
    """An option or a command; empty for an argument."""
    values: str
    """Its kind, or its values: separated by spaces, or the name of a list."""
    help: str


def list_completions(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the completions of the last word, each with its help.

    Nothing is yielded where the user has to name a file or something of their own.
    """
    *before, typed = words or [""]
    if "--" in before:
        return
    if before and before[-1] == "=":  # bash splits `--level=quick`
        before.pop()
    elif typed == "=":
        typed = ""
    rows = [CompletionRow(*line.split("\t")) for line in INDEX.read_text("utf-8").splitlines()]
    command, option = _follow(rows, before)
    name, is_assigned, value = typed.partition("=")
    if option:
        yield from _list_values(rows, option, typed)
    elif is_assigned and (row := _find_row(rows, command, name)):
        yield from ((f"{name}={one}", text) for one, text in _list_values(rows, row, value))
    else:
        for row in (row for row in rows if row.command == command):
            is_shown = typed or row.values == COMMAND  # options from the first hyphen on
            if not row.word:
                yield from _list_values(rows, row, typed)
            elif is_shown and row.word.startswith(typed):
                yield row.word, row.help


def _follow(
    rows: Sequence[CompletionRow], words: Sequence[str]
) -> tuple[str, CompletionRow | None]:
    """Return the command of some words, and the option whose value is next if there is one."""
    command, option = "", None
    for word in words:
        row = None if option or not word else _find_row(rows, command, word)
        option = row if row and row.values not in (COMMAND, FLAG) else None
        if row and row.values == COMMAND:
            command = f"{command} {word}".lstrip()
    return command, option


def _find_row(rows: Sequence[CompletionRow], command: str, word: str) -> CompletionRow | None:
    return next((row for row in rows if (row.command, row.word) == (command, word)), None)


def _list_values(
    rows: Sequence[CompletionRow], row: CompletionRow, typed: str
) -> Iterator[tuple[str, str]]:
    """Yield the values of an option or argument; of a list with commas, those of its last part."""
    if row.values == ANY:
        return
    if folder := _FOLDERS.get(row.values):
        values: Sequence[str] = sorted(folder())
    else:
        listed = _find_row(rows, row.values, "") or row
        values = listed.values.split()
    first, comma, last = typed.rpartition(",")
    for value in values:
        if value.startswith(last):
            yield f"{first}{comma}{value}", ""


def _list_checks() -> Iterator[str]:
    for path in locations.content_folder("checks").glob("*/[!_]*.py"):
        yield f"{path.parent.name}.{path.stem}"


def _list_lessons() -> Iterator[str]:
    for path in locations.content_folder("lessons").glob("*/[0-9]*-*.md"):
        yield f"{path.parent.name}/{path.stem.partition('-')[2]}"


def _list_exercises() -> Iterator[str]:
    for path in locations.content_folder("lessons").glob("*/exercises/*.py"):
        yield f"{path.parents[1].name}/{path.stem}"


_FOLDERS: dict[str, Callable[[], Iterator[str]]] = {
    "@check": _list_checks,
    "@lesson": _list_lessons,
    "@exercise": _list_exercises,
}
"""Lists that are read from the content, so that a new file is completed at once."""
