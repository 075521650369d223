"""The learner's part of an exercise, as the app shows it below or beside the task."""

from __future__ import annotations

from textual.widgets import Static

from tpustarter.tui.plain import plain
from tpustarter.tui.reading import coloured


class OwnCode(Static):
    """The learner's part of the file, as it was saved last."""

    def on_mount(self) -> None:
        """Say whose code it is."""
        self.border_title = "Your file"

    def show(self, code: str) -> None:
        """Show code, in colours."""
        self.update(coloured(plain(code)))
