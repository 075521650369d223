"""Reads the Markdown of lessons: lines, tokens, headings and links. Nothing here runs anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tpustarter.content import Lesson

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_RULE = re.compile(r"^\s*\|?[\s:|-]*--[\s:|-]*$")
_OPENING = re.compile(r"^(?:#+|[*>+-]|\||\d+\.)\s+")
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^)\s]*\)")
_TAG = re.compile(r"^\s*<!--$|^\s*-->$|</?(?:details|summary)>")
_CODE = re.compile(r"(`[^`]+`)")
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(\S|\S[^*]*\S)\1(?![\w*])")


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


def plain_lines(lesson: Lesson) -> Iterator[tuple[int, str]]:
    """Yield the lines of a lesson as they are read, with their numbers in the file.

    Marks of Markdown are left out; what stands between fences is code, and stays as it is.
    """
    fence = ""
    for number, line in enumerate(source_lines(lesson), lesson.first_line):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        else:
            yield number, line.rstrip() if fence else plain(line)


def plain(line: str) -> str:
    """Return a line of Markdown without its marks; nothing is left of a table's rule."""
    if _RULE.match(line):
        return ""
    line = _TAG.sub("", line)
    line = _LINK.sub(r"\1", _OPENING.sub("", line.strip()))
    words = "".join(
        part[1:-1] if part.startswith("`") else _EMPHASIS.sub(r"\2", part)
        for part in _CODE.split(line)
    )
    return re.sub(r"\s*(?<!\\)\|\s*", "  ", words).strip() if line.endswith("|") else words


def search(lessons: Iterable[Lesson], text: str) -> list[tuple[Lesson, int, str]]:
    """Return every line that holds the text, in any case, with its number in the file."""
    query = text.casefold()
    return [
        (lesson, number, line)
        for lesson in lessons
        for number, line in plain_lines(lesson)
        if query in line.casefold()
    ]
