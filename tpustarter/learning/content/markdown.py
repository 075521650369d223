"""The Markdown of lessons: lines, tokens, headings and links."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from tpustarter.core.content import Lesson

if TYPE_CHECKING:
    from markdown_it.token import Token

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
"""Placeholder for inline code while the markup around it is removed."""
_ALONE = re.compile(r"^\s*(?:#+\s|\|)|.*\|$")
"""A heading or a table row."""
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=\S)([^*]*[^*\s])\1(?![\w*])")


def source_lines(lesson: Lesson) -> list[str]:
    """Return the lines of a lesson's text as the Markdown parser counts them."""
    return re.sub(r"\r\n?", "\n", lesson.text).split("\n")


@lru_cache(maxsize=8)  # a lesson's blocks, links and questions are read one after the other
def parse_tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of Markdown text. They are cached, so callers must not modify them."""
    from markdown_it import MarkdownIt

    return tuple(MarkdownIt("commonmark").enable("table").parse(text))


def token_line_range(token: Token) -> tuple[int, int]:
    """Return the index of a Markdown block's first line and of the line after its last."""
    start, end = token.map or (0, 0)
    return start, end


def heading_anchor(heading: str) -> str:
    """Return the anchor that GitHub generates for a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@lru_cache(maxsize=256)  # hundreds of links lead to the glossary alone
def list_anchors(text: str) -> frozenset[str]:
    """Return the anchors of all headings in a Markdown text."""
    return frozenset(map(heading_anchor, list_headings(text)))


def list_headings(text: str) -> list[str]:
    """Return the headings of a Markdown text, in order."""
    tokens = parse_tokens(text)
    return [after.content for one, after in pairwise(tokens) if one.type == "heading_open"]


def find_section(text: str, anchor: str) -> str | None:
    """Return a heading's section with those below it, or None if there is no such heading."""
    lines, start, level = [*io.StringIO(text, newline=None)], -1, ""  # as the parser counts them
    for opening, inline in pairwise(parse_tokens(text)):
        if opening.type != "heading_open":
            continue
        if start >= 0 and opening.tag <= level:
            return "".join(lines[start : token_line_range(opening)[0]])
        if start < 0 and anchor == heading_anchor(inline.content):
            start, level = token_line_range(opening)[0], opening.tag
    return "".join(lines[start:]) if start >= 0 else None


def find_links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the links of a Markdown text, each with the index of its paragraph's first line."""
    for token in parse_tokens(text):
        for child in token.children or ():
            if child.type == "link_open":
                yield token_line_range(token)[0], str(child.attrs["href"])


@dataclass(frozen=True)
class MarkdownLine:
    """A line of a lesson with its markup removed."""

    number: int
    """Line number in the file, from 1."""
    text: str
    """The text without markup; code in fences is unchanged."""
    kind: Literal["heading", "prose", "code"]
    begins: bool = False
    """True if it starts an element, such as a list item or a table row."""


def plain_lines(lesson: Lesson) -> Iterator[MarkdownLine]:
    """Yield the lines of a lesson without markup; fence lines are left out.

    Emphasis and links may span several lines.
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
            yield MarkdownLine(
                number, strip_markup(_ANSWER.sub("", line)), "prose", is_answer or was_answer
            )
        elif fence:
            yield MarkdownLine(number, line.rstrip(), "code")
        else:
            kind = "heading" if _HEADING.match(line) else "prose"
            yield MarkdownLine(number, strip_markup(line), kind, begins=True)
    if paragraph:
        yield from _prose(paragraph)


def _prose(paragraph: list[tuple[int, str]]) -> Iterator[MarkdownLine]:
    text = _inline("\n".join(_opened(line) for _, line in paragraph))
    for (number, source), line in zip(paragraph, text.split("\n"), strict=True):
        yield MarkdownLine(number, line, "prose", bool(_ITEM.match(source)))


def strip_markup(line: str) -> str:
    """Return a line of Markdown without its markup; empty for a table's separator row."""
    if _RULE.match(line):
        return ""
    words = _inline(_opened(line))
    return re.sub(r"\s*(?<!\\)\|\s*", "  ", words).strip() if line.endswith("|") else words


def strip_links(text: str) -> str:
    """Return Markdown with each link replaced by its text in quotation marks."""
    return _LINK.sub(r"“\1”", text)


def _opened(line: str) -> str:
    """Return a line without tags and without its leading marker."""
    return _OPENING.sub("", _TAG.sub("", line).strip())


def _inline(text: str) -> str:
    """Return text without inline markup; code between backticks is unchanged."""
    codes: list[str] = []

    def put_aside(code: re.Match[str]) -> str:
        codes.append(code[2])
        return _HOLE

    text = _LINK.sub(r"\1", _CODE.sub(put_aside, text))
    for _ in range(2):  # they may be nested
        text = _EMPHASIS.sub(r"\2", text)
    rest = iter(codes)
    return re.sub(_HOLE, lambda _: next(rest, ""), text)
