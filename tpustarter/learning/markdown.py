"""Reads the Markdown of lessons: lines, tokens, headings and links. Nothing here runs anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from tpustarter.content import Lesson

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^#+\s")
_RULE = re.compile(r"^\s*\|?[\s:|-]*--[\s:|-]*$")
_OPENING = re.compile(r"^(?:#+|[*>+-]|\||\d+\.)\s+")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^)\s]*\)")
_TAG = re.compile(r"^\s*<!--$|^\s*-->$|</?(?:details|summary)>")
_CODE = re.compile(r"(`+)([^`]+)\1")
_ANSWER = re.compile(r"^\s*\([ x]\)\s*")
_HOLE = "\x00"
"""Stands for a piece of code while marks around it are read."""
_ALONE = re.compile(r"^\s*(?:#+\s|\|)|.*\|$")
"""A heading or a row of a table."""
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)([^*]*[^*\s])\1(?![\w*])")


def source_lines(lesson: Lesson) -> list[str]:
    """Return the lines of a lesson's text as the Markdown reader counts them."""
    return re.sub(r"\r\n?", "\n", lesson.text).split("\n")


def tokens(text: str) -> list[Any]:
    """Return the Markdown tokens of a text."""
    from markdown_it import MarkdownIt

    return list(MarkdownIt("commonmark").enable("table").parse(text))


def anchor(heading: str) -> str:
    """Return the name by which GitHub lets a link reach a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@lru_cache(maxsize=256)  # hundreds of links lead into the glossary alone
def anchors(text: str) -> frozenset[str]:
    """Return the anchors a Markdown text has, as GitHub makes them of its headings."""
    return frozenset(
        anchor(inline.content)
        for opening, inline in pairwise(tokens(text))
        if opening.type == "heading_open"
    )


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the links of a Markdown text, each with the line its paragraph begins at, from 0."""
    for token in tokens(text):
        for child in token.children or ():
            if child.type == "link_open":
                yield token.map[0], str(child.attrs["href"])


@dataclass(frozen=True)
class Line:
    """One line of a lesson as it is read."""

    number: int
    """Where it stands in the file, from 1."""
    text: str
    """Without marks of Markdown; what stands between fences is code, and stays as it is."""
    kind: Literal["heading", "prose", "code"]
    begins: bool = False
    """Whether something new begins here, such as an item of a list or a row of a table."""


def plain_lines(lesson: Lesson) -> Iterator[Line]:
    """Yield the lines of a lesson as they are read; fences themselves are left out.

    What is emphasised or linked may go on from one line to the next.
    """
    fence, is_quiz, is_answer = "", False, False
    paragraph: list[tuple[int, str]] = []
    for number, line in enumerate(source_lines(lesson), lesson.first_line):
        mark = _FENCE.match(line)
        goes_on = not fence and not mark and line.strip() and not _ALONE.match(line)
        if paragraph and not goes_on:
            yield from _prose(paragraph)
            paragraph = []
        if goes_on:
            paragraph.append((number, line))
        elif mark and not fence:
            fence, is_quiz = mark[1], "quiz" in line
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif fence and is_quiz:
            was_answer, is_answer = is_answer, bool(_ANSWER.match(line))
            yield Line(number, plain(_ANSWER.sub("", line)), "prose", is_answer or was_answer)
        elif fence:
            yield Line(number, line.rstrip(), "code")
        else:
            kind = "heading" if _HEADING.match(line) else "prose"
            yield Line(number, plain(line), kind, begins=True)
    if paragraph:
        yield from _prose(paragraph)


def _prose(paragraph: list[tuple[int, str]]) -> Iterator[Line]:
    """Yield the lines of a paragraph without marks."""
    text = _inline("\n".join(_opened(line) for _, line in paragraph))
    for (number, source), line in zip(paragraph, text.split("\n"), strict=True):
        yield Line(number, line, "prose", bool(_ITEM.match(source)))


def plain(line: str) -> str:
    """Return a line of Markdown without its marks; nothing is left of a table's rule."""
    if _RULE.match(line):
        return ""
    words = _inline(_opened(line))
    return re.sub(r"\s*(?<!\\)\|\s*", "  ", words).strip() if line.endswith("|") else words


def without_links(text: str) -> str:
    """Return a text of Markdown with the words of each link in quotation marks."""
    return _LINK.sub(r"“\1”", text)


def _opened(line: str) -> str:
    """Return a line without the tags in it, and without the mark that it begins with."""
    return _OPENING.sub("", _TAG.sub("", line).strip())


def _inline(text: str) -> str:
    """Return a text without the marks in it; what stands between backticks stays as it is."""
    codes: list[str] = []

    def put_aside(code: re.Match[str]) -> str:
        codes.append(code[2])
        return _HOLE

    text = _LINK.sub(r"\1", _CODE.sub(put_aside, text))
    for _ in range(2):  # one within another
        text = _EMPHASIS.sub(r"\2", text)
    rest = iter(codes)
    return re.sub(_HOLE, lambda _: next(rest, ""), text)
