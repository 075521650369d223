"""Where on a lesson's page a line of its Markdown stands."""

from __future__ import annotations

import re
from typing import cast

from textual.widget import Widget
from textual.widgets.markdown import MarkdownBlock

from tpustarter.invocation import as_typed
from tpustarter.tui.block import BlockView
from tpustarter.tui.folded import FigureView
from tpustarter.tui.question import QuestionView


def holding(page: Widget, line: str) -> Widget | None:
    """Return the first part of a page that holds a line of the lesson; None where none does.

    A heading is looked for among headings first: a text above it may speak of it.
    """
    letters = {_letters(line), _letters(as_typed(line))} - {""}
    kinds = "MarkdownBlock, BlockView, QuestionView, FigureView"
    headings = [*page.query("MarkdownHeader")] if line.startswith("#") else []
    for widget in [*headings, *page.query(kinds)] if letters else ():
        is_view = isinstance(widget, BlockView | QuestionView | FigureView)
        text = widget.text if is_view else cast("MarkdownBlock", widget).source
        if any(part in _letters(text or "") for part in letters):
            return widget
    return None


def _letters(text: str) -> str:
    """Return what of a text is left however it is marked up and wrapped."""
    return re.sub(r"[\W_]+", "", re.sub(r"\]\([^)\s]*\)", "", text)).casefold()
