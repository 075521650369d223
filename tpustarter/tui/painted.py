"""Drawings and bars in the colours of the theme; their shapes say the same without any."""

from __future__ import annotations

import re

from textual.content import Content, Span

from tpustarter.checking import bars
from tpustarter.tui.plain import plain

_FRAME = "[\u2500-\u257f]+"
"""Lines of boxes and axes."""
_MEASURED = "[\u2580-\u259f\u2800-\u28ff]+"
"""Blocks and dots, of which bars and curves are made."""
_RUN = re.compile(f"({_FRAME})|{_MEASURED}")


_BAR = re.compile(f"{bars.FULL}+|{bars.EMPTY}+")
MARKERS = {"x": "$keyword", "o": "$string", "+": "$warn"}
"""The colour of each curve after the first one, by the sign that it is drawn with."""
_MARKED = re.compile("(?<![A-Za-z0-9+])[xo+]+(?![A-Za-z0-9])")
"""Such signs, and not the letters of a word."""


def drawing(text: str, *, has_curves: bool = False) -> Content:
    """Return a drawing: what was measured stands out, and frames and axes step back.

    Args:
        text: Its lines.
        has_curves: Whether several curves are in it, so that signs stand for points.
    """
    text = plain(text)
    spans = [Span(run.start(), run.end(), "$muted" if run[1] else "$key")
             for run in _RUN.finditer(text)]  # fmt: skip
    for run in _MARKED.finditer(text) if has_curves else ():
        spans += [Span(at, at + 1, MARKERS[text[at]]) for at in range(*run.span())]
    return Content(text, spans)


def bar(text: str | Content) -> Content:
    """Return a line with the bar of `checking.bars` that it may hold in its colours."""
    line = Content(text) if isinstance(text, str) else text
    for run in _BAR.finditer(line.plain):
        line = line.stylize("$key" if run[0][0] == bars.FULL else "$border-blurred", *run.span())
    return line
