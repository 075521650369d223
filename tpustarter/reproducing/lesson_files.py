"""A lesson's files in the reproducer of one of its blocks: embedded modules, separate texts.

Modules are written to a folder that Python then searches. Texts can be long and may contain
anybody's name, so the reproducer names the command that fetches them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from tpustarter.core.content import Lesson
from tpustarter.learning.content import code_files

_QUOTES = "'''"
_WRITE = """\
# Files of the lesson that its blocks use.
import os
import shutil
import sys
import tempfile

_folder = tempfile.mkdtemp()
sys.path.insert(0, _folder)
"""
_WORK_THERE = "os.chdir(_folder)\n"


@dataclass(frozen=True)
class LessonFiles:
    """The parts of a reproducer that come from a lesson's own files."""

    code: str = ""
    """The code before the blocks."""
    data_files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that must be in the reproducer's folder, keyed by file name."""
    notes: tuple[str, ...] = ()
    """Sentences about these texts for the reproducer's opening comment."""


def find_files_for_blocks(lesson: Lesson, blocks: Iterable[str]) -> LessonFiles:
    """Return the lesson files that blocks need, given the blocks' code.

    Raises:
        Problem: A file of the lesson cannot be read.
    """
    texts = code_files.read_code_files(lesson)
    wanted = _wanted("\n".join(blocks), texts)
    if not wanted:
        return LessonFiles()
    data_files = {name: texts[name] for name in wanted if not name.endswith(".py")}
    notes = [
        f"It reads {name}, which must lie beside it: "
        f"`{code_files.format_print_command(lesson, name)} > {name}`"
        for name in data_files
    ]
    parts = (_written(name, texts[name]) for name in wanted)
    return LessonFiles("\n".join([_WRITE, *parts, _WORK_THERE]), data_files, tuple(notes))


def _wanted(code: str, texts: Mapping[str, str]) -> list[str]:
    wanted: list[str] = []
    todo = [code]
    while todo:
        text = todo.pop()
        imported = {*_imported(text)}
        for name in texts:
            is_used = PurePath(name).stem in imported if name.endswith(".py") else name in text
            if is_used and name not in wanted:
                wanted.append(name)
                todo.append(texts[name] if name.endswith(".py") else "")
    return [name for name in texts if name in wanted]


def _imported(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _written(name: str, text: str) -> str:
    if not name.endswith(".py"):
        own = "os.path.dirname(os.path.abspath(__file__))"
        return f'shutil.copy(os.path.join({own}, "{name}"), _folder)\n'
    open_it = f'with open(os.path.join(_folder, "{name}"), "w") as _file:'
    if _QUOTES in text:
        return f"{open_it}\n    _file.write({text!r})\n"
    return f"{open_it}\n    _file.write(r{_QUOTES}{text}{_QUOTES})\n"
