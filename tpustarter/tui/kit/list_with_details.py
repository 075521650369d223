"""A screen with a list, and the highlighted row's details below the list or next to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.tui.kit.page import Page
from tpustarter.tui.kit.row_list import DetailRows, RowList
from tpustarter.tui.kit.text_layout import colour_bar, style_lines

LOW = 18
"""Minimum screen height, in lines, for showing the list and the details together."""


class ListWithDetails(Page):
    """A list, the details of a row, and a headline with the work's status."""

    BESIDE: ClassVar[int] = 120
    """Minimum screen width, in columns, for showing the details next to the list."""
    ROWS: ClassVar[type[DetailRows]] = DetailRows
    """The class of the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "details", "the list", key_display="Enter", tooltip="back to the list"),
        Binding("space", "read_on", show=False),
    ]

    def body(self) -> Iterable[Widget]:
        yield Static("", id="opening", classes="-silent")
        with Container(id="both"):
            yield self.ROWS(id="rows")
            with VerticalScroll(id="details"):
                yield Static("", id="found")
        yield Static("", id="headline")

    def on_mount(self) -> None:
        self.set_focus(self.query_one(RowList))

    def show_text(self, text: str, *, where: str = "headline") -> None:
        """Set the text of the widget with the id `where`; an empty text hides the widget."""
        line = self.query_one(f"#{where}", Static)
        line.update(colour_bar(style_lines(text)))
        line.set_class(not text, "-silent")

    def show_details(self, found: VisualType) -> None:
        """Show the highlighted row's details."""
        self.query_one("#found", Static).update(found)

    @on(RowList.OptionSelected)
    def _open_details(self) -> None:
        self.action_details()

    def action_details(self) -> None:
        """Toggle between the details alone and the list with its details."""
        large = not self.has_class("-details")
        self.set_class(large, "-details")
        self.set_focus(self.query_one("#details") if large else self.query_one(RowList))
        self.refresh_bindings()

    def action_read_on(self) -> None:
        self.query_one("#details").scroll_page_down(animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `back` from the details even while something runs."""
        if action == "back" and self.has_class("-details"):
            return True
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """Close the details if they are open; otherwise stop a running operation, or go back."""
        if self.has_class("-details"):
            self.action_details()
        else:
            super().action_back()

    def on_resize(self) -> None:
        """Position the details; on a low screen they are shown only after Enter."""
        super().on_resize()
        self.place_details()
        self.set_class(self.size.height < LOW, "-low")

    def place_details(self) -> None:
        """Show the details next to the list if the screen is wide enough, otherwise below it."""
        self.set_class(self.size.width >= self.BESIDE, "-beside")
