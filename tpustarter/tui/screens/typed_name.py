"""Asks for a name before something is billed or lost: nothing but the whole name is a yes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.tui.heading import Heading
from tpustarter.tui.key_line import Keys
from tpustarter.tui.lines import prose
from tpustarter.tui.screens.page import RELEASE


class NameLine(Input):
    """Where the name is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "do it", key_display="Enter", tooltip="the name typed"),
    ]


class TypedName(ModalScreen[bool]):
    """Shows what would be sent; the answer is yes once the name was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "answer", "send nothing", key_display="Esc", tooltip="change nothing"),
        Binding("down,pagedown", "scroll(1)", "read on", key_display="Down", tooltip="what goes"),
        Binding("up,pageup", "scroll(-1)", show=False),
        *RELEASE,
    ]

    def __init__(self, title: str, shown: VisualType, name: str, to_do: str) -> None:
        """Take what is asked.

        Args:
            title: Of the sheet.
            shown: What would happen, with the gcloud command.
            name: What must be typed.
            to_do: What that does: "delete it".
        """
        super().__init__()
        self._title, self._shown, self._name, self._to_do = title, shown, name, to_do

    def compose(self) -> Iterable[Widget]:
        """Yield heading, what is asked, the line to type and the keys."""
        yield Heading(self._title)
        with VerticalScroll(id="sheet", can_focus=False):
            yield Static(self._shown)
        yield Static(prose(f"To {self._to_do}, type `{self._name}`:"), id="headline")
        with Horizontal(classes="typed"):
            yield Static(Content("> "), classes="mark")
            line = NameLine(id="name-typed")
            line.cursor_blink = False
            yield line
        yield Keys(markup=False)

    def on_mount(self) -> None:
        """Let the name be typed at once."""
        self.set_focus(self.query_one(NameLine))

    @on(Input.Submitted)
    def typed(self, event: Input.Submitted) -> None:
        """Answer yes for the whole name, and say what differs for any other."""
        event.stop()
        found = event.value.strip()
        if found == self._name:
            self.dismiss(True)  # noqa: FBT003  the answer
            return
        what = f"found `{found}`" if found else "nothing was typed"
        text = f"{what}, expected `{self._name}`: nothing was sent."
        self.query_one("#headline", Static).update(prose(text))

    def action_answer(self) -> None:
        """Answer no."""
        self.dismiss(False)  # noqa: FBT003  the answer

    def action_scroll(self, pages: int) -> None:
        """Read on, or back."""
        self.query_one("#sheet").scroll_relative(y=pages * 5, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to read on where there is more than fits."""
        if action == "scroll":
            return self.query_one("#sheet").max_scroll_y > 0
        return super().check_action(action, parameters)
