"""Dialogs with an input field: a TPU's full name before anything is billed, or a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Input, Static

from tpustarter.tui.kit.form_page import TextField
from tpustarter.tui.kit.heading import Heading
from tpustarter.tui.kit.key_line import KeyBar
from tpustarter.tui.kit.page import RELEASE, Answer, Dialog
from tpustarter.tui.kit.text_layout import style_sentence


class NameInput(TextField):
    """The input field for the name."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "do it", key_display="Enter", tooltip="the name typed"),
    ]


class InputDialog(Dialog[Answer]):
    """A dialog with an input field. Its result is None after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "answer", "send nothing", key_display="Esc", tooltip="change nothing"),
        Binding("down,pagedown", "scroll(1)", "read on", key_display="Down", tooltip="what goes"),
        Binding("up,pageup", "scroll(-1)", show=False),
        *RELEASE,
    ]

    def __init__(self, title: str, shown: VisualType, question: Content, value: str = "") -> None:
        super().__init__(title, Static(shown))
        self._question, self._value = question, value

    def compose(self) -> Iterable[Widget]:
        yield Heading(self._title)
        with VerticalScroll(id="sheet", can_focus=False):
            yield self._content
        yield Static(self._question, id="headline")
        with Horizontal(classes="typed"):
            yield Static(Content("> "), classes="mark")
            yield NameInput(self._value, id="name-typed")
        yield KeyBar(markup=False)

    def on_mount(self) -> None:
        self.set_focus(self.query_one(NameInput))

    def action_answer(self) -> None:
        self.dismiss(None)


class ConfirmName(InputDialog[bool]):
    """A dialog that shows a request. Its result is True once the full name has been typed."""

    def __init__(self, title: str, shown: VisualType, name: str, to_do: str) -> None:
        """Ask for a name.

        Args:
            title: The dialog's title.
            shown: The request's effect, with the gcloud command.
            name: The name to type.
            to_do: The effect as a verb phrase, such as "delete it".
        """
        super().__init__(title, shown, style_sentence(f"To {to_do}, type `{name}`:"))
        self._expected = name

    @on(Input.Submitted)
    def confirm_typed(self, event: Input.Submitted) -> None:
        event.stop()
        found = event.value.strip()
        if found == self._expected:
            self.dismiss(True)  # noqa: FBT003  the answer
            return
        what = f"found `{found}`" if found else "nothing was typed"
        text = f"{what}, expected `{self._expected}`: nothing was sent."
        self.query_one("#headline", Static).update(style_sentence(text))


class TextDialog(InputDialog[str]):
    """A dialog that asks for text, and returns what was typed."""

    def __init__(self, title: str, text: str, value: str) -> None:
        super().__init__(title, style_sentence(text), Content("Enter goes on:"), value)

    @on(Input.Submitted)
    def take_typed(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip())
