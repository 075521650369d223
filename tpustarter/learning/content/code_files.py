"""Files that a lesson's blocks import or read: those in `lessons/TRACK/code/` named by its header.

The lesson's process works in a folder of its own with copies of them. A header contains file names,
never paths.
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
"""A Python module or text file, without a folder."""
MAX_BYTES = 400_000
"""Largest file in bytes: each is copied into notebooks and into the folder of every run."""


def read_code_files(lesson: Lesson) -> dict[str, str]:
    """Return the text of each code file by name.

    Raises:
        Problem: A file cannot be read.
    """
    return {name: _read(lesson, name) for name in lesson.code_names}


def read_code_file(lesson: Lesson, name: str) -> str:
    """Return the text of one of a lesson's code files.

    Raises:
        Problem: The lesson has no such file, or it cannot be read.
    """
    known = lesson.code_names
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
    """Write a lesson's code files to a folder; return the folder, or None if there are no files.

    An existing file that differs was changed by the learner and is kept as `NAME.old`.

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
    """Return the command that prints one of a lesson's code files."""
    return f"tpustarter learn {lesson.id} --code {name}"


def describe_code_files(lesson: Lesson) -> list[str]:
    """Return a sentence that lists a lesson's code files, and a command that prints one.

    The command prints the last file, which the lesson is mainly about. The list is empty if the
    lesson has no files.
    """
    known = lesson.code_names
    if not known:
        return []
    which = phrases.choose_plural(len(known), "which", "each of which")
    return [
        f"Its code uses {phrases.join_words(known)}, {which} you can read:",
        format_print_command(lesson, known[-1]),
    ]


def find_code_file_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each mistake in a lesson's code files."""
    known = lesson.code_names
    for name in sorted({name for name in known if known.count(name) > 1}):
        yield f"`code` names `{name}` twice"
    for name in lesson.exercise_names:
        if f"{name}.py" in known:  # both are in the same folder of the learner
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
