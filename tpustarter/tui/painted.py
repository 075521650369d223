"""Drawings and bars in the colours of the theme; their shapes say the same without any."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual.content import Content, Span

from tpustarter.checking import bars
from tpustarter.learning.curves import Lines, Plot, draw_curves
from tpustarter.learning.drawings import Drawing, draw, has_numbers
from tpustarter.tui.plain import plain

_FRAME = "[\u2500-\u257f]+"
"""Lines of boxes and axes."""
_MEASURED = "[\u2580-\u259f\u2800-\u28ff]+"
"""Blocks and dots, of which bars and curves are made."""
_RUN = re.compile(f"({_FRAME})|{_MEASURED}")


_BAR = re.compile(f"{bars.FULL}+|{bars.EMPTY}+")
CURVES = ("$key", "$keyword", "$string", "$warn")
"""The colours of curves, of each and of its name."""


def drawings(shown: Iterable[Drawing], width: int, *, has_colours: bool) -> Content:
    """Return what a block left to be drawn, at most `width` columns wide.

    Args:
        shown: Curves, bars and arrays over devices.
        width: Columns there are.
        has_colours: Whether the terminal shows any: without them curves differ by their signs.
    """
    return Content("\n\n").join(
        _curves(draw_curves(one, width, has_colours=has_colours))
        if isinstance(one, Lines) and has_numbers(one)
        else drawing(draw(one, width))
        for one in shown
    )


def _curves(plot: Plot) -> Content:
    colours = (Span(start, end, CURVES[curve % len(CURVES)]) for start, end, curve in plot.curves)
    frames = [Span(*run.span(), "$muted") for run in _RUN.finditer(plot.text) if run[1]]
    return Content(plot.text, [*frames, *colours])


def drawing(text: str) -> Content:
    """Return a drawing: what was measured stands out, and frames and axes step back."""
    text = plain(text)
    spans = [Span(run.start(), run.end(), "$muted" if run[1] else "$key")
             for run in _RUN.finditer(text)]  # fmt: skip
    return Content(text, spans)


def bar(text: str | Content) -> Content:
    """Return a line with the bar of `checking.bars` that it may hold in its colours."""
    line = Content(text) if isinstance(text, str) else text
    for run in _BAR.finditer(line.plain):
        line = line.stylize("$key" if run[0][0] == bars.FULL else "$border-blurred", *run.span())
    return line
