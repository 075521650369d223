"""The command palette with its keys below, as on every other screen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Command, CommandInput, CommandList, CommandPalette
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import Input, LoadingIndicator, Static
from textual.worker import WorkerCancelled

from tpustarter.tui.commands_in_text import in_shell
from tpustarter.tui.key_line import Keys
from tpustarter.tui.lines import Line, Lines, prose, wrapped
from tpustarter.tui.screens.page import RELEASE
from tpustarter.tui.widgets import with_mark

FRAMED, CHROME = 14, 8
"""Lines from which the list has a frame, as in `app.VERTICAL_BREAKPOINTS`, and those around it."""
GAP, LEAST_TITLE = 2, 40
"""Columns between an action and its command, and those of an action that is cut for it."""
WIDEST, SIDES = 102, 4
"""Columns of the widest palette, as `app.tcss` has it, and those of frame and air."""


class Actions(CommandList):
    """The list of actions, each in one line with the command that does the same."""

    def add_options(self, new_options: Iterable[Any]) -> Any:
        """Add actions, which Textual (8.2.8) has in two lines."""
        return super().add_options(
            Command(Action(option.prompt), option.hit, option.id)
            if isinstance(option, Command) and isinstance(option.prompt, Content)
            else option
            for option in new_options
        )

    def render_line(self, y: int) -> Strip:
        """Paint the marked action so that it is seen without colours too."""
        return with_mark(self, super().render_line(y), is_in_use=True)


class Action(Lines):
    """An action with its command at the right; without it where too little of the action fits."""

    def __init__(self, prompt: Content) -> None:
        title, *command = prompt.split("\n")
        self._title, self._command = Content("  ") + title, "".join(part.plain for part in command)

    def lines(self, width: int) -> list[Content]:
        """Return the line, or those that the title needs."""
        room = width - len(self._command) - GAP
        if self._title.cell_length > room >= LEAST_TITLE:
            return Line(self._title.truncate(room, ellipsis=True), self._command).lines(width)
        is_whole = self._title.cell_length <= room
        return Line(self._title, self._command if is_whole else "", hang=2).lines(width)


class _Note(Lines):
    """How the commands at the right are typed; no line where they stand as they are typed."""

    def lines(self, width: int) -> list[Content]:
        """Return the sentence, wrapped."""
        said = in_shell()
        return wrapped(prose(said).stylize("$muted"), width) if said else []


class Palette(CommandPalette):
    """Every action, found by typing; Textual's own shows no keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # By priority only to be shown: the line that is typed into binds both unseen.
        Binding("down", "cursor_down", "choose", key_display="Down", priority=True),
        Binding("enter", "submit", "do it", key_display="Enter", priority=True),
        Binding("escape", "escape", "close", key_display="Esc"),
        *RELEASE,
    ]

    def compose(self) -> ComposeResult:
        """Yield the palette as Textual (8.2.8) does, and the keys."""
        with Vertical(id="--container"):
            with Horizontal(id="--input"):
                line = CommandInput(placeholder="type a word of it", select_on_focus=False)
                line.cursor_blink = False
                yield line
            yield Static(_Note(), id="in-shell")
            with Vertical(id="--results"):
                yield Actions()
                yield LoadingIndicator()
        yield Keys(markup=False)

    def on_mount(self) -> None:
        """Say what the frame is for."""
        frame = self.query_one("#--container")
        frame.border_title = "What would you like to do?"
        frame.border_subtitle = "at the right, the command that does the same"

    def on_resize(self) -> None:
        """Leave the list the lines that the window has; with fewer actions it is less high."""
        chrome, note = 3, self.query_one("#in-shell")
        note.display = self.size.height >= FRAMED and bool(in_shell())
        if self.size.height >= FRAMED:
            chrome = CHROME + len(_Note().lines(min(self.size.width, WIDEST) - SIDES))
        self.query_one(Actions).styles.max_height = max(self.size.height - chrome, 1)

    def _action_command_list(self, action: str) -> None:
        """Move in the list; without any room Textual (8.2.8) looks for what is not there."""
        if self.query_one(CommandList).scrollable_content_region.area:
            super()._action_command_list(action)

    @work(exclusive=True, group="submit")
    async def action_submit(self) -> None:
        """Do what is marked, once the list is of what is typed."""
        searches = [
            one
            for one in self.workers
            if one.group == self._GATHER_COMMANDS_GROUP and not one.is_finished
        ]
        with contextlib.suppress(WorkerCancelled):  # something else was typed meanwhile
            for one in searches:
                await one.wait()
            await self.query_one(Input).action_submit()
