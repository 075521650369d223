"""The line in which one types what is looked for."""

from __future__ import annotations

from typing import ClassVar, cast

from textual.binding import Binding, BindingType
from textual.events import Paste
from textual.widgets import Input

from tpustarter.tui.failed import of_text
from tpustarter.tui.tutor import Tutor
from tpustarter.tui.widgets import get_app


class SearchLine(Input):
    """Where one types what is looked for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "open the first", key_display="Enter"),
        Binding("enter", "submit_meant", "search for it", key_display="Enter"),
        Binding(
            "down", "screen.to_list", "to the list", key_display="Down", tooltip="choose among them"
        ),
    ]

    is_meant = False
    """Whether Enter takes the word that may have been meant, as nothing was found."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say of Enter what it does now."""
        if action in ("submit", "submit_meant"):
            return self.is_meant == (action == "submit_meant")
        return super().check_action(action, parameters)

    action_submit_meant = Input.action_submit

    def _on_paste(self, event: Paste) -> None:
        """Take a line; an error of many lines is explained, for a search takes only words."""
        if "\n" in event.text.strip():
            event.stop()
            event.prevent_default()
            cast("Tutor", get_app(self)).go.to_explanation(of_text(event.text))
