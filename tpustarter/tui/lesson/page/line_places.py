"""The widget on a lesson's page for a line of its Markdown."""

from __future__ import annotations

import re

from textual.widget import Widget
from textual.widgets.markdown import MarkdownBlock

from tpustarter.text.invocation import format_commands
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.page.folded_parts import FigureView
from tpustarter.tui.lesson.page.question import QuestionView


def find_widget(page: Widget, line: str) -> Widget | None:
    """Return the first widget of a page that holds a line of the lesson; None if none does.

    A heading is searched for among headings first: a text above it may mention it.
    """
    letters = {_letters(line), _letters(format_commands(line))} - {""}
    kinds = "MarkdownBlock, BlockView, QuestionView, FigureView"
    headings = [*page.query("MarkdownHeader")] if line.startswith("#") else []
    for widget in [*headings, *page.query(kinds)] if letters else ():
        text = None
        if isinstance(widget, BlockView | QuestionView | FigureView):
            text = widget.text
        elif isinstance(widget, MarkdownBlock):
            text = widget.source
        if any(part in _letters(text or "") for part in letters):
            return widget
    return None


def _letters(text: str) -> str:
    """Return a text without markup, link targets, punctuation and white space, in lower case."""
    return re.sub(r"[\W_]+", "", re.sub(r"\]\([^)\s]*\)", "", text)).casefold()
