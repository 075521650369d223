"""What every text for people shares: safe characters, the width of a line, and colour.

The app lays its own screens out; what it shows as plain text goes through `visible` as well.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Mapping

WIDTH = 80
"""Columns that every terminal has."""

Paint = Callable[[str, str], str]
"""Colours a word by the status it stands for."""


def visible(text: str) -> str:
    """Return text as one line; a control character is spelt out, as Python would write it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def wrap(text: str, first: str = "", hang: str | None = None) -> list[str]:
    """Return text in lines of `WIDTH`; a word is never broken, so that commands can be copied.

    Args:
        text: What to say.
        first: What the first line begins with.
        hang: What the others begin with; the same where nothing is given.
    """
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if hang is None else hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def unpainted(word: str, status: str) -> str:  # noqa: ARG001  what every `Paint` takes
    """Return a word as it is."""
    return word


def paint_for(colours: Mapping[str, str]) -> Paint:
    """Return how to colour words on stdout, by status; no colour in a pipe or with `NO_COLOR`."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return unpainted
    from click import style  # not needed where nothing is coloured

    return lambda word, status: style(word, fg=colours[status]) if status in colours else word
