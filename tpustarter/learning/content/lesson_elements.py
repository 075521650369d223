"""The elements of a lesson that are not text: special fences, figures, folds.

Each occupies its own lines of the file. `blocks.py` combines them into parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content.markdown import parse_tokens, token_line_range

if TYPE_CHECKING:
    from markdown_it.token import Token

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
"""The form of the name of a block, question or figure."""
_VARIABLES = re.compile(r"[A-Za-z_]\w*(,[A-Za-z_]\w*){0,3}")
"""Names of up to four variables, separated by commas."""
_LABEL = re.compile(r"\*([^*]+?):?\*")
_FOLD = re.compile(r"<details><summary>([^<>]+)</summary>\s*")
_FIGURE = re.compile(r"<!--\n(`{3,})figure( by-hand)?\n(.*?)\n\1\n-->\s*", re.DOTALL)
_RUN = {"id", "timeout", "plot", "x", "show"}
_OPTIONS = {
    "run": _RUN,
    "try": _RUN,
    "answer": {"of"},
    "output": {"of", "on", "rtol"},
    "quiz": {"id"},
}
"""The options allowed on each kind of fence."""


@dataclass(frozen=True)
class LessonElement:
    """An element of a lesson that is not text."""

    kind: str
    """`run`, `try`, `answer`, `output`, `quiz`, `figure`, `fold`, or `unfold` for a fold's end."""
    options: dict[str, str]
    """Its options; a figure has `caption`, `file` and, if it was drawn by hand, `by-hand`."""
    content: str
    """The text inside, or the summary of a fold."""
    start: int
    """Index of its first line in the lesson's text."""
    end: int
    """Index of the line after its last."""
    label: str = ""
    """The label above an output fence that limits where it applies; empty if there is none."""

    @property
    def first_line(self) -> int:
        """Return the element's first line, including its label."""
        return self.start - 2 if self.label else self.start


def make_lesson_problem(lesson: Lesson, line: int, what: str) -> Problem:
    """Return the error for a line, given its index in the lesson's text."""
    return Problem(f"the lesson `{lesson.path}`, line {lesson.first_line + line}: {what}")


def find_lesson_elements(lesson: Lesson, lines: list[str]) -> Iterator[LessonElement]:
    """Yield a lesson's elements that are not text, from top to bottom.

    Raises:
        Problem: A fence or option is malformed.
    """
    image: tuple[int, dict[str, str]] | None = None
    for token in parse_tokens("\n".join(lines)):
        if token.type == "fence":
            fence = _read_fence(lesson, lines, token)
        elif token.type == "html_block":
            fence = _read_html(token, image)
        else:
            fence = None
        if fence and token.level > 0:
            raise make_lesson_problem(
                lesson, fence.start, "a fence that runs must not stand in a list or a quote"
            )
        if fence:
            yield fence
        if token.type == "inline":
            image = _only_image(token)


def _read_fence(lesson: Lesson, lines: list[str], token: Token) -> LessonElement | None:
    start, end = token_line_range(token)
    last = lines[end - 1].strip(" \t>")
    if end - start < 2 or set(last) != set(token.markup[0]) or len(last) < len(token.markup):
        raise make_lesson_problem(lesson, start, "a fence is opened and never closed")
    words = token.info.split()
    kind = words[0] if words[:1] in (["output"], ["quiz"]) else "".join(words[1:2])
    if kind not in _OPTIONS or (kind == "answer" and words[0] != "python"):
        return None
    if kind in ("run", "try") and words[0] != "python":
        raise make_lesson_problem(lesson, start, f"only `python` runs, found `{words[0]}`")
    options = _parse_options(lesson, start, kind, words[1 if kind in ("output", "quiz") else 2 :])
    label = _find_label(lines[:start]) if kind == "output" else ""
    return LessonElement(kind, options, token.content, start, end, label)


def _parse_options(lesson: Lesson, start: int, kind: str, words: list[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if key not in _OPTIONS[kind] or not equals or not value or key in options:
            allowed = ", ".join(f"{option}=" for option in sorted(_OPTIONS[kind]))
            raise make_lesson_problem(
                lesson, start, f"found `{word}` on the fence, expected once: {allowed}"
            )
        if key in ("plot", "x", "show") and not _VARIABLES.fullmatch(value):
            raise make_lesson_problem(
                lesson, start, f"`{word}` does not name variables of the block"
            )
        options[key] = value
    if "x" in options and ("plot" not in options or "," in options["x"]):
        raise make_lesson_problem(lesson, start, "`x=` names one variable, and needs `plot=`")
    name = options.get("id", options.get("of"))
    if name and not NAME.fullmatch(name):
        raise make_lesson_problem(
            lesson,
            start,
            f"`{name}` is not a valid name, expected lowercase letters, digits and hyphens",
        )
    return options


def _find_label(above: list[str]) -> str:
    """Return the label of an output, if the last paragraph of the lines above it is one."""
    stands_alone = len(above) > 1 and not above[-1].strip() and not "".join(above[-3:-2]).strip()
    match = _LABEL.fullmatch(above[-2].strip()) if stands_alone else None
    return match[1] if match else ""


def _read_html(token: Token, image: tuple[int, dict[str, str]] | None) -> LessonElement | None:
    """Return a fold, its end, or a figure: an image followed by a comment with its text."""
    start, end = token_line_range(token)
    if match := _FOLD.fullmatch(token.content):
        return LessonElement("fold", {}, " ".join(match[1].split()), start, end)
    if token.content.strip() == "</details>":
        return LessonElement("unfold", {}, "", start, end)
    match = _FIGURE.fullmatch(token.content)
    if match and image:
        line, options = image
        options = {**options, "by-hand": "yes"} if match[2] else options
        return LessonElement("figure", options, match[3], line, end)
    return None


def _only_image(token: Token) -> tuple[int, dict[str, str]] | None:
    """Return a paragraph's line and image if it contains nothing else."""
    children = token.children or []
    if len(children) != 1 or children[0].type != "image":
        return None
    options = {"caption": str(children[0].content), "file": str(children[0].attrs["src"])}
    return token_line_range(token)[0], options
