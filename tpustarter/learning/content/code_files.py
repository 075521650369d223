"""Files that blocks of a lesson import or read: those of `lessons/TRACK/code/` in its header.

The process of a lesson has copies of them in a folder of its own, in which it also works. A header
names files and never paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\.(py|txt)")
"""The name of a module or a text, without a folder."""
MAX_BYTES = 400_000
"""Bytes of one file: it goes into notebooks and into the folder of each run."""


def list_code_files(lesson: Lesson) -> list[str]:
    """Return the names of a lesson's files, from its header."""
    return lesson.code_names


def read_code_files(lesson: Lesson) -> dict[str, str]:
    """Return the text of each file by its name; raise Problem for one that cannot be read."""
    return {name: _read(lesson, name) for name in list_code_files(lesson)}


def read_code_file(lesson: Lesson, name: str) -> str:
    """Return the text of one file of a lesson; raise Problem where the lesson has no such file."""
    known = list_code_files(lesson)
    if name not in known:
        what = f"the lesson `{lesson.id}` uses no file `{name}`"
        hint = f"it uses {phrases.join_words(known)}" if known else "its header names no files"
        raise Problem(what, hint=hint, code=ExitCode.USAGE)
    return _read(lesson, name)


def _read(lesson: Lesson, name: str) -> str:
    if not NAME.fullmatch(name):
        raise Problem(f"`{name}` in the header of `{lesson.id}` is not the name of a .py or .txt")
    try:
        return locations.read_text(_path(lesson, name), MAX_BYTES)
    except (OSError, ValueError) as error:
        raise Problem(f"cannot read `{name}`, which `{lesson.id}` uses: {error}") from error


def _path(lesson: Lesson, name: str) -> Path:
    return lesson.path.parent / "code" / name


def write_code_files(lesson: Lesson, folder: Path) -> Path | None:
    """Write a lesson's files into a folder, and return it, or None for a lesson without any.

    A file that differs was changed by the learner, and is kept as `NAME.old`.

    Raises:
        Problem: A file cannot be read or written.
    """
    texts = read_code_files(lesson)
    if not texts:
        return None
    locations.make_folder(folder)
    for name, content in texts.items():
        path = folder / name
        with locations.convert_write_errors(path):
            if path.exists() and _differs(path, content):
                locations.move_aside(path, f"{name}.old", why="was changed")
            path.write_text(content, encoding="utf-8")
        locations.chown_to_caller(path)
    return folder


def _differs(path: Path, content: str) -> bool:
    try:
        return locations.read_text(path, MAX_BYTES) != content
    except (OSError, ValueError):
        return True


def format_print_command(lesson: Lesson, name: str) -> str:
    """Return the command that prints one file of a lesson."""
    return f"tpustarter learn {lesson.id} --code {name}"


def describe_code_files(lesson: Lesson) -> list[str]:
    """Return a sentence that lists a lesson's files, and a command that prints one.

    It prints the last of several, since a lesson is mostly about that one. A lesson without files
    has no note.
    """
    known = list_code_files(lesson)
    if not known:
        return []
    which = phrases.choose_plural(len(known), "which", "each of which")
    return [
        f"Its code uses {phrases.join_words(known)}, {which} you can read:",
        format_print_command(lesson, known[-1]),
    ]


def find_code_file_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each mistake in the code files that a lesson names."""
    known = list_code_files(lesson)
    for name in sorted({name for name in known if known.count(name) > 1}):
        yield f"`code` names `{name}` twice"
    for name in lesson.exercise_names:
        if f"{name}.py" in known:  # both lie in one folder of the learner's
            yield f"the exercise `{name}` has the name of a file of `code`"
    for name in known:
        try:
            content = _read(lesson, name)
        except Problem as problem:
            yield problem.full_text
            continue
        yield from _complaints_of(_path(lesson, name), content)


def _complaints_of(path: Path, content: str) -> Iterator[str]:
    name = path.name
    if b"\r" in path.read_bytes() or not content.endswith("\n"):
        yield f"`{name}` has other line ends than `\\n`, or none at its end"
    if not name.endswith(".py"):
        return
    try:
        compile(content, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        yield f"`{name}` is no Python: {error}"
