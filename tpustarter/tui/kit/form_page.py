"""Screens with fields to fill in, and the text field of all screens."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.reactive import reactive
from textual.widgets import Input

from tpustarter.tui.kit.page import Page


class TextField(Input):
    """A text field, whose cursor does not blink."""

    cursor_blink = reactive(False, init=False)  # noqa: FBT003  its initial value


class FormPage(Page):
    """A page with fields, which Tab and the arrow keys visit in turn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,down", "move(1)", "next field", key_display="Tab", tooltip="one field down"),
        Binding("shift+tab,up", "move(-1)", show=False),
    ]

    def action_move(self, by: int) -> None:
        if by > 0:
            self.focus_next()
        else:
            self.focus_previous()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `move` if there are several fields."""
        if action == "move":
            return len(self.focus_chain) > 1
        return super().check_action(action, parameters)
