"""Files of a lesson in the one file that reproduces its block: modules within it, texts beside it.

A module is written into a folder that Python then looks into. A text can be long, and may have
anybody's name in it, so the file says how to get it instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from tpustarter.content import Lesson
from tpustarter.learning import code_files

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
class Files:
    """What a file needs of a lesson's own files."""

    code: str = ""
    """What stands above its blocks."""
    beside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Texts that have to lie beside it, by name."""
    notes: tuple[str, ...] = ()
    """What its comment says of them."""


def needed(lesson: Lesson, blocks: Iterable[str]) -> Files:
    """Return what blocks of a lesson need of its files, given their code; raises Problem."""
    texts = code_files.read(lesson)
    wanted = _wanted("\n".join(blocks), texts)
    if not wanted:
        return Files()
    beside = {name: texts[name] for name in wanted if not name.endswith(".py")}
    notes = [
        f"It reads {name}, which must lie beside it: `{code_files.command(lesson, name)} > {name}`"
        for name in beside
    ]
    parts = (_written(name, texts[name]) for name in wanted)
    return Files("\n".join([_WRITE, *parts, _WORK_THERE]), beside, tuple(notes))


def _wanted(code: str, texts: Mapping[str, str]) -> list[str]:
    """Return the files that code imports or names, and those that these need in turn."""
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
    """Return the code that puts one file into the folder."""
    if not name.endswith(".py"):
        own = "os.path.dirname(os.path.abspath(__file__))"
        return f'shutil.copy(os.path.join({own}, "{name}"), _folder)\n'
    open_it = f'with open(os.path.join(_folder, "{name}"), "w") as _file:'
    if _QUOTES in text:
        return f"{open_it}\n    _file.write({text!r})\n"
    return f"{open_it}\n    _file.write(r{_QUOTES}{text}{_QUOTES})\n"
