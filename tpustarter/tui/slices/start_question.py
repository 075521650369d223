"""A dialog that shows the commands of a run on all hosts, and asks whether to start it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tpustarter.slices.starting.launch_request import HostCommand
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.page import RELEASE, ConfirmDialog
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence


class StartQuestion(ConfirmDialog, inherit_bindings=False):
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
        super().__init__(title, Static(StackedText(_lay_out(does, commands, same))))


def _lay_out(
    does: str, commands: Sequence[HostCommand], same: Sequence[str]
) -> Iterator[LaidOutLines | Content]:
    count = phrases.format_count(len(commands), "command")
    yield HangingText("", style_sentence(f"Enter runs {count} on this machine, {does}"))
    yield HangingText("The same: ", style_sentence(f"`{escape_text(shlex.join(same))}`"))
    for one in commands:
        host = "all hosts" if one.host is None else f"host {one.host}"
        yield Content("")
        yield Content.styled(escape_text(f"{host} {one.name}".rstrip()), "bold")
        yield HangingText("  $ ", escape_text(one.text), is_typed=False)
