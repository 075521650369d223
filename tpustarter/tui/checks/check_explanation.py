"""A check's explanation from its file and its lesson: method, reason and code."""

from __future__ import annotations

import ast
import contextlib
from dataclasses import dataclass
from pathlib import Path

from tpustarter.core import content
from tpustarter.core.content import Check
from tpustarter.core.problem import Problem
from tpustarter.learning.content import markdown
from tpustarter.tui.library.lesson_details import find_first_paragraph


@dataclass(frozen=True)
class CheckExplanation:
    """Texts about a check, which are empty if they cannot be read."""

    how: str = ""
    """The check's method, the first paragraph of its `run` function's docstring."""
    code: str = ""
    lesson: str = ""
    """The title of the check's lesson."""
    why: str = ""
    """The opening of the lesson."""


def read_explanation(check: Check, lessons: Path | None) -> CheckExplanation:
    """Read a check's file and the opening of its lesson."""
    code, title, why = "", "", ""
    with contextlib.suppress(OSError):
        code = check.path.read_text(errors="replace")
    with contextlib.suppress(Problem):
        for lesson in content.read_lessons(lessons):
            if lesson.id == check.lesson:
                title, why = lesson.title, find_first_paragraph(list(markdown.plain_lines(lesson)))
    return CheckExplanation(_how(code), code, title, why)


def _how(code: str) -> str:
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.parse(code).body:
            if isinstance(node, ast.FunctionDef) and node.name == "run":
                paragraph = (ast.get_docstring(node) or "").partition("\n\n")[0]
                return " ".join(paragraph.split())
    return ""
