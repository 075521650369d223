"""Drawings in the theme's colours; they are readable without colours, too."""

from __future__ import annotations

import re
from collections.abc import Iterable

from textual.content import Content, Span

from tpustarter.learning.drawings.block_drawings import Drawing, draw_as_text, has_finite_numbers
from tpustarter.learning.drawings.curves import DrawnCurves, LinePlot, draw_curves
from tpustarter.tui.kit.safe_text import clean_text

_FRAME = "[\u2500-\u257f]+"
"""Box-drawing characters, for frames and axes."""
_MEASURED = "[\u2580-\u259f\u2800-\u28ff]+"
"""Block elements and Braille dots, for bars and curves."""
_RUN = re.compile(f"({_FRAME})|{_MEASURED}")
CURVES = ("$key", "$keyword", "$string", "$warn")
"""The colours of the curves and of their names."""


def render_drawings(shown: Iterable[Drawing], width: int, *, has_colours: bool) -> Content:
    """Render a block's drawings, at most `width` columns wide.

    Args:
        shown: Curves, bars and arrays over devices.
        width: The available columns.
        has_colours: Whether the terminal shows colours; otherwise curves differ by their symbols.
    """
    return Content("\n\n").join(
        _curves(draw_curves(one, width, has_colours=has_colours))
        if isinstance(one, LinePlot) and has_finite_numbers(one)
        else paint_drawing(draw_as_text(one, width))
        for one in shown
    )


def _curves(plot: DrawnCurves) -> Content:
    colours = (Span(start, end, CURVES[curve % len(CURVES)]) for start, end, curve in plot.curves)
    frames = [Span(*run.span(), "$muted") for run in _RUN.finditer(plot.text) if run[1]]
    return Content(plot.text, [*frames, *colours])


def paint_drawing(text: str) -> Content:
    """Return a drawing with its data highlighted and its frames and axes muted."""
    text = clean_text(text)
    spans = [
        Span(run.start(), run.end(), "$muted" if run[1] else "$key") for run in _RUN.finditer(text)
    ]
    return Content(text, spans)
