"""The command palette, with a key line like every other screen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Command, CommandInput, CommandList
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.strip import Strip
from textual.types import OptionListContent
from textual.widgets import Input, LoadingIndicator, Static
from textual.worker import WorkerCancelled

from tpustarter.tui.kit.key_line import KeyBar
from tpustarter.tui.kit.page import RELEASE
from tpustarter.tui.kit.row_list import paint_highlight
from tpustarter.tui.kit.text_layout import LaidOutLines, TextLine, style_sentence, wrap_text
from tpustarter.tui.lesson.page.lesson_commands import describe_shell
from tpustarter.tui.terminal.removed_nodes import QuietWhenRemoved
from tpustarter.tui.terminal.widget_internals import SearchedPalette

if TYPE_CHECKING:
    from typing_extensions import Self

FRAMED, CHROME = 14, 8
"""Minimum height for a frame, as in `app.VERTICAL_BREAKPOINTS`, and the lines around the list."""
GAP, LEAST_TITLE = 2, 40
"""Columns between an action and its command, and the minimum width of a truncated action."""
WIDEST, SIDES = 102, 4
"""The palette's maximum width, as in `app.tcss`, and the width of its frame and padding."""


class ActionList(CommandList):
    """The list of actions, each on one line with its equivalent shell command."""

    def add_options(self, new_options: Iterable[OptionListContent]) -> Self:
        """Add actions with one line each instead of Textual's (8.2.8) two."""
        return super().add_options(
            Command(ActionLine(option.prompt), option.hit, option.id)
            if isinstance(option, Command) and isinstance(option.prompt, Content)
            else option
            for option in new_options
        )

    def render_line(self, y: int) -> Strip:
        """Render a line, marking the highlighted action even on terminals without colours."""
        return paint_highlight(self, super().render_line(y), is_in_use=True)


class ActionLine(LaidOutLines):
    """An action with its command at the right, unless too little of the action would fit."""

    def __init__(self, prompt: Content) -> None:
        title, *command = prompt.split("\n")
        self._title, self._command = Content("  ") + title, "".join(part.plain for part in command)

    def lines(self, width: int) -> list[Content]:
        room = width - len(self._command) - GAP
        if self._title.cell_length > room >= LEAST_TITLE:
            return TextLine(self._title.truncate(room, ellipsis=True), self._command).lines(width)
        is_whole = self._title.cell_length <= room
        return TextLine(self._title, self._command if is_whole else "", hang=2).lines(width)


class _Note(LaidOutLines):
    """A note on how to type the commands at the right, unless they work as shown."""

    def lines(self, width: int) -> list[Content]:
        said = describe_shell()
        return wrap_text(style_sentence(said).stylize("$muted"), width) if said else []


class Palette(QuietWhenRemoved, SearchedPalette):
    """A searchable list of all actions, with the keys that Textual's palette does not show."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # Priority only makes them visible: the input field binds both without showing them.
        Binding("down", "cursor_down", "choose", key_display="Down", priority=True),
        Binding("enter", "submit", "do it", key_display="Enter", priority=True),
        Binding("escape", "escape", "close", key_display="Esc"),
        *RELEASE,
    ]

    def compose(self) -> ComposeResult:
        """Yield the widgets of Textual's palette (8.2.8) and the key line."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                line = CommandInput(placeholder="type a word of it", select_on_focus=False)
                line.cursor_blink = False
                yield line
            yield Static(_Note(), id="in-shell")
            with Vertical(id="--results"):
                yield ActionList()
                yield LoadingIndicator()
        yield KeyBar(markup=False)

    def on_mount(self) -> None:
        frame = self.query_one("#--container")
        frame.border_title = "What would you like to do?"
        frame.border_subtitle = "at the right, the command that does the same"

    def on_resize(self) -> None:
        """Limit the list's height to the window, or to the number of actions if that is lower."""
        chrome, note = 3, self.query_one("#in-shell")
        note.display = self.size.height >= FRAMED and bool(describe_shell())
        if self.size.height >= FRAMED:
            chrome = CHROME + len(_Note().lines(min(self.size.width, WIDEST) - SIDES))
        self.query_one(ActionList).styles.max_height = max(self.size.height - chrome, 1)

    @work(exclusive=True, group="submit")
    async def action_submit(self) -> None:
        """Run the highlighted action, once the list matches the typed text."""
        searches = self.unfinished_searches()
        with contextlib.suppress(WorkerCancelled):  # the user has typed something else
            for one in searches:
                await one.wait()
            await self.query_one(Input).action_submit()
