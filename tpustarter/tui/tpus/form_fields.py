"""The fields of the TPU form: text fields with suggestions, and fields with fixed values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester, SuggestionReady
from textual.widgets import Static

from tpustarter.tui.terminal.widget_internals import SuggestingInput

ENTER = Binding(
    "enter",
    "submit",
    "ask for it",
    key_display="Enter",
    tooltip="tpustarter tpu create NAME --type TYPE --zone ZONE",
)


class LastWordSuggester(Suggester):
    """A suggester that completes the last word from a list, which may arrive later."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.words: Sequence[str] = ()

    async def get_suggestion(self, value: str) -> str | None:
        typed = find_last_word(value)
        if not typed:
            return None
        found = next((word for word in self.words if word.startswith(typed)), typed)
        return None if found == typed else value + found[len(typed) :]


def find_last_word(value: str) -> str:
    """Return the word that is being typed, after the last space or comma."""
    return value.replace(",", " ").rpartition(" ")[2]


class TypedField(SuggestingInput):
    """A text field with suggestions."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "take", "complete", key_display="Right", tooltip="what is shown dim"),
        Binding("right", "cursor_right", show=False),
        ENTER,
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002  Textual's name
        self.offered = LastWordSuggester()
        super().__init__(suggester=self.offered, id=id)
        self.cursor_blink = False

    def set_suggestions(self, words: Sequence[str]) -> None:
        """Set the words to suggest."""
        if self.offered.words != words:
            self.offered.words = words
            self.run_worker(self._suggest(self.value))

    async def _suggest(self, value: str) -> None:
        """Suggest a word for text that was typed before the list arrived."""
        if found := await self.offered.get_suggestion(value):
            self.post_message(SuggestionReady(value, found))

    def action_take(self) -> None:
        self.action_cursor_right()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "take":
            return bool(self.suggested_value) and self.cursor_at_end
        return super().check_action(action, parameters)


class ChosenField(Static, can_focus=True):
    """A field with a few fixed values."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right", "turn(1)", "change", key_display="Space", tooltip="the next value"),
        Binding("left", "turn(-1)", show=False),
        ENTER,
    ]

    @dataclass
    class ValueChosen(Message):
        """The field's value has changed."""

    @dataclass
    class Submitted(Message):
        """The user has pressed Enter in the field."""

    def __init__(self, values: tuple[str, ...], *, id: str) -> None:  # noqa: A002  Textual's name
        super().__init__("", id=id)
        self._values = values
        self.value = values[0]

    def on_mount(self) -> None:
        self.choose(self.value)

    def choose(self, value: str) -> None:
        """Select one of the field's values."""
        self.value = value
        self.update(Content(f"< {self.value} >"))

    def action_turn(self, by: int) -> None:
        at = self._values.index(self.value) + by
        self.choose(self._values[at % len(self._values)])
        self.post_message(self.ValueChosen())

    def action_submit(self) -> None:
        self.post_message(self.Submitted())
