"""A dialog that shows the commands of a run on all hosts, and asks whether to start it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.slices.starting.launch_request import HostCommand
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.key_line import KeyBar
from tpustarter.tui.kit.page import RELEASE, ConfirmWindow, DialogFrame
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence


class StartQuestion(ConfirmWindow, inherit_bindings=False):
    """A dialog that shows the commands that start a run and asks whether to run them.

    Its result is True if they should be run.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer(True)", "start", key_display="Enter", tooltip="run all of these"),
        Binding("y", "answer(True)", show=False),
        Binding("escape", "answer(False)", "not now", key_display="Esc", tooltip="run nothing"),
        Binding("n", "answer(False)", show=False),
        Binding(
            "down,pagedown,space", "scroll(1)", "read on", key_display="Down", tooltip="later lines"
        ),
        Binding("up,pageup", "scroll(-1)", show=False),
        *RELEASE,
    ]

    def __init__(
        self, title: str, does: str, commands: Sequence[HostCommand], same: Sequence[str]
    ) -> None:
        """Ask whether to start the commands.

        Args:
            title: The dialog's title.
            does: What the commands do, which completes "Enter runs 2 commands on this machine,".
            commands: The commands to start.
            same: The words of the equivalent tpustarter command.
        """
        super().__init__(title, "")
        self._does = does
        self._commands, self._same = commands, same

    def compose(self) -> Iterable[Widget]:
        yield DialogFrame(self._title, Static(StackedText(self._lines())))
        yield KeyBar(markup=False)

    def _lines(self) -> Iterator[LaidOutLines | Content]:
        count = phrases.format_count(len(self._commands), "command")
        opening = f"Enter runs {count} on this machine, {self._does}"
        yield HangingText("", style_sentence(opening))
        yield HangingText("The same: ", style_sentence(f"`{escape_text(shlex.join(self._same))}`"))
        for one in self._commands:
            host = "all hosts" if one.host is None else f"host {one.host}"
            yield Content("")
            yield Content.styled(escape_text(f"{host} {one.name}".rstrip()), "bold")
            yield HangingText("  $ ", escape_text(one.text), is_typed=False)

    def action_scroll(self, pages: int) -> None:
        self.query_one("#sheet").scroll_relative(y=pages * 5, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `scroll` if the text does not fit."""
        if action == "scroll":
            return self.query_one("#sheet").max_scroll_y > 0
        return super().check_action(action, parameters)
