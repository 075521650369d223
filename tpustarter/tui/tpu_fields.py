"""The fields of the form for a TPU: one that is typed, with suggestions, and one that is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester, SuggestionReady
from textual.widgets import Input, Static

ENTER = Binding(
    "enter",
    "submit",
    "ask for it",
    key_display="Enter",
    tooltip="tpustarter tpu create NAME --type TYPE --zone ZONE",
)


class LastWord(Suggester):
    """Completes the word that is being typed from a list that may come later."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.words: Sequence[str] = ()

    async def get_suggestion(self, value: str) -> str | None:
        """Return the whole text with its last word completed; null where nothing fits."""
        typed = last_word(value)
        if not typed:
            return None
        found = next((word for word in self.words if word.startswith(typed)), typed)
        return None if found == typed else value + found[len(typed) :]


def last_word(value: str) -> str:
    """Return the word that is being typed: behind the last space or comma."""
    return value.replace(",", " ").rpartition(" ")[2]


class TypedField(Input):
    """A field that is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "take", "complete", key_display="Right", tooltip="what stands there dim"),
        Binding("right", "cursor_right", show=False),
        ENTER,
    ]

    def __init__(self, **options: Any) -> None:
        self.offered = LastWord()
        super().__init__(suggester=self.offered, **options)
        self.cursor_blink = False

    def offer(self, words: Sequence[str]) -> None:
        """Suggest these from now on."""
        if self.offered.words != words:
            self.offered.words = words
            self.run_worker(self._suggest(self.value))

    async def _suggest(self, value: str) -> None:
        """Suggest something for what was typed before the list came."""
        if found := await self.offered.get_suggestion(value):
            self.post_message(SuggestionReady(value, found))

    def watch__suggestion(self) -> None:
        """Show the key that takes a suggestion while there is one."""
        self.refresh_bindings()

    def action_take(self) -> None:
        """Take what is suggested."""
        self.action_cursor_right()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to complete where there is a suggestion."""
        if action == "take":
            return bool(self._suggestion) and self.cursor_at_end
        return super().check_action(action, parameters)


class ChosenField(Static, can_focus=True):
    """A field that takes one of a few values."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right", "turn(1)", "change", key_display="Space", tooltip="the next value"),
        Binding("left", "turn(-1)", show=False),
        ENTER,
    ]

    @dataclass
    class Turned(Message):
        """It has another value."""

    @dataclass
    class Submitted(Message):
        """The form is filled in."""

    def __init__(self, values: tuple[str, ...], **options: Any) -> None:
        super().__init__("", **options)
        self._values = values
        self.value = values[0]

    def on_mount(self) -> None:
        """Show the first value."""
        self.choose(self.value)

    def choose(self, value: str) -> None:
        """Take one of the values."""
        self.value = value
        self.update(Content(f"< {self.value} >"))

    def action_turn(self, by: int) -> None:
        """Take the next value, or the one before."""
        at = self._values.index(self.value) + by
        self.choose(self._values[at % len(self._values)])
        self.post_message(self.Turned())

    def action_submit(self) -> None:
        """Say that the form is filled in."""
        self.post_message(self.Submitted())
