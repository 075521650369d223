"""The line for a text to search for."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Paste
from textual.widgets import Input

from tpustarter.tui.app.session import session_of
from tpustarter.tui.explain.failure import read_failure


class SearchLine(Input):
    """The search line above a list; Enter opens the first result, or takes the suggested word."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "open the first", key_display="Enter"),
        Binding("enter", "submit_meant", "search for it", key_display="Enter"),
        Binding(
            "down", "screen.to_list", "to the list", key_display="Down", tooltip="choose among them"
        ),
    ]

    is_meant = False
    """Whether Enter searches for the suggested word, because nothing was found."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer for Enter the one of its two actions that applies now."""
        if action in ("submit", "submit_meant"):
            return self.is_meant == (action == "submit_meant")
        return super().check_action(action, parameters)

    action_submit_meant = Input.action_submit

    def on_paste(self, event: Paste) -> None:
        """Paste a line; an error of many lines is explained, because a search takes only words."""
        if "\n" in event.text.strip():
            event.stop()
            event.prevent_default()
            session_of(self).go.open_explanation(read_failure(event.text))
