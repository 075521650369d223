"""Shows the exact commands that would run, and asks for a yes: nothing but its key is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.setup import as_root
from tpustarter.setup.steps import Step
from tpustarter.terminal import visible
from tpustarter.tui.key_line import Keys
from tpustarter.tui.lines import Hanging, Lines, Stack, prose
from tpustarter.tui.screens.page import RELEASE, Window


class SeenCommands(ModalScreen[bool]):
    """The commands, and the answer: all of them, only those without root, or null for nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes", tooltip="run all of them, as they stand here"),
        Binding("n", "answer(False)", "without root", tooltip="only the steps that need no root"),
        Binding("escape", "answer(None)", "nothing", key_display="Esc", tooltip="run nothing"),
        Binding("down,pagedown,space", "scroll(1)", "read on", key_display="Down",
                tooltip="the next lines"),
        Binding("up,pageup", "scroll(-1)", show=False),
        *RELEASE,
    ]  # fmt: skip

    def __init__(
        self,
        title: str,
        opening: str,
        steps: Sequence[Step],
        pasted: Callable[[Sequence[str]], str],
        *,
        others: int = 0,
    ) -> None:
        """Take what is asked.

        Args:
            title: Of the window.
            opening: What is to happen.
            steps: Those whose commands are shown.
            pasted: Returns a command as it can be pasted into a shell.
            others: How many steps run without root when the answer is no; 0 takes that answer away.
        """
        super().__init__()
        self._title, self._opening, self._steps = title, opening, steps
        self._pasted, self._others = pasted, others

    def compose(self) -> Iterable[Widget]:
        """Yield window and key line."""
        yield Window(self._title, Static(Stack(self._lines())))
        yield Keys(markup=False)

    def _lines(self) -> Iterator[Lines | Content]:
        yield Hanging("", prose(self._opening))
        for step in self._steps:
            yield Content("")
            root = " (as root)" if as_root.NEED in step.needs else ""
            yield Hanging("", Content.styled(visible(step.title), "bold") + root)
            yield Hanging("  $ ", visible(self._pasted(step.command)))

    def action_answer(self, yes: bool | None) -> None:  # noqa: FBT001  an action's argument
        """Return the answer."""
        self.dismiss(yes)

    def action_scroll(self, pages: int) -> None:
        """Read on, or back."""
        self.query_one("#sheet").scroll_relative(y=pages * 5, animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is to choose, and to read on where there is more than fits."""
        if action == "scroll":
            return self.query_one("#sheet").max_scroll_y > 0
        if action == "answer" and parameters == (False,):
            return self._others > 0
        return super().check_action(action, parameters)
