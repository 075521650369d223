"""Markdown pages: their links, headings and code, and tables generated from data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.places import REPOSITORY

README = REPOSITORY / "README.md"
REFERENCE = REPOSITORY / ".github" / "REFERENCE.md"
CONTRIBUTING = REPOSITORY / ".github" / "CONTRIBUTING.md"
_PARSER = MarkdownIt("commonmark").enable("table")


def _tokens(text: str) -> Iterator[Token]:
    for token in _PARSER.parse(text):
        yield token
        yield from token.children or ()


def code_spans(text: str) -> list[str]:
    """Return the inline code in a page's text and tables."""
    return [token.content for token in _tokens(text) if token.type == "code_inline"]


def typed_lines(text: str) -> list[str]:
    """Return the commands for the reader: lines in `sh` fences, and after `$` in other fences."""
    lines: list[str] = []
    for token in _tokens(text):
        if token.type != "fence":
            continue
        whole = token.content.replace("\\\n", "").splitlines()
        lines += [
            line.removeprefix("$ ") for line in whole if token.info == "sh" or line.startswith("$ ")
        ]
    return lines


def links(text: str) -> list[str]:
    """Return the targets of a page's links and pictures."""
    found = [token.attrGet("href") or token.attrGet("src") for token in _tokens(text)]
    return [str(target) for target in found if target]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub generates for a page's headings."""
    pairs = pairwise(_tokens(text))
    titles = [inline.content for token, inline in pairs if token.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def compare_table(page: Path, lines: Sequence[str], *, golden: bool) -> None:
    """Assert that a page has the table that begins with these lines; `golden` writes it first."""
    text = page.read_text(encoding="utf-8")
    start = text.index(lines[0])
    end = text.index("\n\n", start)
    if golden:
        text = text[:start] + "\n".join(lines) + text[end:]
        page.write_text(text, encoding="utf-8")

    assert [*lines] == text[start : text.index("\n\n", start)].splitlines()
