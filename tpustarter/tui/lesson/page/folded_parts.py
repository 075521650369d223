"""A lesson's figures and its collapsible parts."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Collapsible, Static

from tpustarter.learning.content.blocks import ANSWER, HINT, Figure
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit import painted_drawings

TITLES = {HINT: "A hint for the task above", ANSWER: "The answer to the task above"}
"""The titles of the folds below a task, by the summaries that lessons use."""


class FoldedPart(Collapsible):
    """A part that a key or a click opens, such as an answer."""

    def __init__(self, summary: str, *widgets: Widget) -> None:
        self.summary = summary
        self._heading = TITLES.get(summary) or escape_text(summary)
        super().__init__(
            *widgets,
            title=f"{self._heading}  (o opens it)",
            classes="fold",
            collapsed_symbol=">",
            expanded_symbol="v",
        )

    def watch_collapsed(self, collapsed: bool) -> None:  # noqa: FBT001  Textual's signature
        self.title = f"{self._heading}  (o {'opens' if collapsed else 'closes'} it)"


class FigureView(Vertical):
    """A text drawing with its caption below."""

    def __init__(self, figure: Figure) -> None:
        super().__init__(classes="figure")
        self.text = f"{figure.caption}\n{figure.text}"
        self._figure = figure

    def compose(self) -> list[Widget]:
        caption = Content.styled(escape_text(self._figure.caption), "italic dim")
        return [
            Static(painted_drawings.paint_drawing(self._figure.text), classes="drawing"),
            Static(caption),
        ]
