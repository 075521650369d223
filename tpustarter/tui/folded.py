"""What a lesson shows besides text and code: figures, and parts that are folded until asked for."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Collapsible, Static

from tpustarter.learning.blocks import Figure
from tpustarter.terminal import visible
from tpustarter.tui import painted

ANSWER = "Answer"
"""How lessons name what folds the answer to a task; a question may follow it."""


class Fold(Collapsible):
    """A part that is opened by a key or a click, such as an answer."""

    def __init__(self, summary: str, *widgets: Widget) -> None:
        self.is_answer = summary == ANSWER
        """Whether it is the answer to the task above it."""
        self._summary = "The answer to the task above" if self.is_answer else visible(summary)
        super().__init__(
            *widgets, title=f"{self._summary}  (o opens it)", classes="fold",
            collapsed_symbol=">", expanded_symbol="v",
        )  # fmt: skip

    def turn(self) -> None:
        """Open it, or close it again."""
        self.collapsed = not self.collapsed

    def watch_collapsed(self, collapsed: bool) -> None:  # noqa: FBT001  the signature of Textual
        """Say what the key does now."""
        self.title = f"{self._summary}  (o {'opens' if collapsed else 'closes'} it)"


class FigureView(Vertical):
    """A drawing in characters, with its caption below."""

    def __init__(self, figure: Figure) -> None:
        super().__init__(classes="figure")
        self.text = f"{figure.caption}\n{figure.text}"
        self._figure = figure

    def compose(self) -> list[Widget]:
        """Return drawing and caption."""
        caption = Content.styled(visible(self._figure.caption), "italic dim")
        return [Static(painted.drawing(self._figure.text), classes="drawing"), Static(caption)]
