"""Reads the Markdown of lessons: lines, tokens, headings and links. Nothing here runs anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from tpustarter.content import Lesson


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


def anchors(text: str) -> set[str]:
    """Return the anchors a Markdown text has, as GitHub makes them of its headings."""
    names: set[str] = set()
    stream = tokens(text)
    for opening, inline in pairwise(stream):
        if opening.type == "heading_open":
            names.add(anchor(inline.content))
    return names


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the links of a Markdown text, each with the line its paragraph begins at, from 0."""
    for token in tokens(text):
        for child in token.children or ():
            if child.type == "link_open":
                yield token.map[0], str(child.attrs["href"])


def search(lessons: Iterable[Lesson], text: str) -> list[tuple[Lesson, int, str]]:
    """Return every line that holds the text, in any case, with its number in the file."""
    query = text.casefold()
    return [
        (lesson, lesson.first_line + number, line)
        for lesson in lessons
        for number, line in enumerate(source_lines(lesson))
        if query in line.casefold()
    ]
