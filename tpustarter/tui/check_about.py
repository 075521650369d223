"""What a check's own file and its lesson say of it: how it measures, why it matters, its code."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import dataclass
from pathlib import Path

from tpustarter import content
from tpustarter.content import Check
from tpustarter.learning import markdown
from tpustarter.problem import Problem
from tpustarter.tui.lesson_detail import opening


@dataclass(frozen=True)
class About:
    """Texts about a check; what cannot be read is empty."""

    how: str = ""
    """How it measures: the first paragraph of its `run`."""
    code: str = ""
    lesson: str = ""
    """The title of the lesson that explains it, ..."""
    why: str = ""
    """... and how that begins."""


def read(check: Check, lessons: Path | None) -> About:
    """Read the file of a check, and the beginning of its lesson."""
    code, title, why = "", "", ""
    with contextlib.suppress(OSError):
        code = check.path.read_text(errors="replace")
    with contextlib.suppress(Problem):
        for lesson in content.read_lessons(lessons):
            if lesson.id == check.lesson:
                title, why = lesson.title, opening(list(markdown.plain_lines(lesson)))
    return About(_how(code), code, title, why)


def _how(code: str) -> str:
    """Return the first paragraph of what `run` says that it does."""
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.parse(code).body:
            if isinstance(node, ast.FunctionDef) and node.name == "run":
                paragraph = (ast.get_docstring(node) or "").partition("\n\n")[0]
                return " ".join(paragraph.split())
    return ""
