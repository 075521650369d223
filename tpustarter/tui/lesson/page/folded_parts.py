"""Figures, and the parts of a lesson that are folded until they are opened."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Collapsible, Static

from tpustarter.learning.content.blocks import Figure
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit import painted_drawings

ANSWER = "Answer"
"""The lessons' name for the folded answer to a task; a question may follow it."""


class FoldedPart(Collapsible):
    """A part that is opened by a key or a click, such as an answer."""

    def __init__(self, summary: str, *widgets: Widget) -> None:
        self.is_answer = summary == ANSWER
        self._summary = "The answer to the task above" if self.is_answer else escape_text(summary)
        super().__init__(
            *widgets,
            title=f"{self._summary}  (o opens it)",
            classes="fold",
            collapsed_symbol=">",
            expanded_symbol="v",
        )

    def toggle(self) -> None:
        """Open a closed part, or close an open one."""
        self.collapsed = not self.collapsed

    def watch_collapsed(self, collapsed: bool) -> None:  # noqa: FBT001  the signature of Textual
        self.title = f"{self._summary}  (o {'opens' if collapsed else 'closes'} it)"


class FigureView(Vertical):
    """A drawing in characters, with its caption below."""

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
