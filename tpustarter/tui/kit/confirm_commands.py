"""A dialog that shows the commands to be run and asks for confirmation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.machine import root_commands
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.page import RELEASE, ConfirmDialog
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, style_sentence


class ConfirmCommands(ConfirmDialog):
    """A dialog that asks which commands to run.

    Its result is True for all commands, False for those that do not need root, and None for none.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", tooltip="run all of them, as shown"),
        Binding("n", "answer(False)", "without root", tooltip="only the steps that need no root"),
        Binding("escape", "answer(None)", "nothing", key_display="Esc", tooltip="run nothing"),
        Binding(
            "down,pagedown,space",
            "scroll(1)",
            "read on",
            key_display="Down",
            tooltip="the next lines",
        ),
        Binding("up,pageup", "scroll(-1)", show=False),
        *RELEASE,
    ]

    def __init__(
        self,
        title: str,
        opening: str,
        steps: Sequence[SetupStep],
        pasted: Callable[[Sequence[str]], str],
        *,
        others: int = 0,
    ) -> None:
        """Show the commands of the steps.

        Args:
            title: The dialog's title.
            opening: A sentence that describes what will happen.
            steps: The steps whose commands are shown.
            pasted: Formats a command for pasting into a shell.
            others: The number of steps that do not need root. If it is 0, the answer "without root"
                is not offered.
        """
        super().__init__(title, Static(StackedText(_lay_out(opening, steps, pasted))))
        self._others = others

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow "without root" if `others` is not 0."""
        if action == "answer" and parameters == (False,):
            return self._others > 0
        return super().check_action(action, parameters)


def _lay_out(
    opening: str, steps: Sequence[SetupStep], pasted: Callable[[Sequence[str]], str]
) -> Iterator[LaidOutLines | Content]:
    yield HangingText("", style_sentence(opening))
    for step in steps:
        yield Content("")
        root = " (as root)" if root_commands.NEED in step.needs else ""
        yield HangingText("", Content.styled(escape_text(step.title), "bold") + root)
        yield HangingText("  $ ", escape_text(pasted(step.command)))
