"""The app: wires screens to content, machine and choices, and says who holds the device."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.filter import NoColor
from textual.reactive import reactive
from textual.screen import Screen
from textual.timer import Timer

from tpustarter.probe.machine import Machine
from tpustarter.tui import commands, messages, settings, theme
from tpustarter.tui.keys import OneByOne
from tpustarter.tui.live import Live
from tpustarter.tui.screens.home import Home
from tpustarter.tui.screens.page import RELEASE, Page


class Starter(OneByOne, inherit_bindings=False):
    """The tutor. Machine and content are arguments, so that tests bring their own."""

    CSS_PATH = "app.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (14, "-tall")]  # noqa: RUF012  declared as Textual does
    COMMAND_PALETTE_BINDING = "colon"
    BINDINGS: ClassVar[list[BindingType]] = [
        *RELEASE,
        Binding("slash", "search", "search", key_display="/", tooltip="tpustarter learn --search"),
        Binding("colon", "command_palette", "more", key_display=":", tooltip="every command"),
        Binding("question_mark", "help", "help", key_display="?", tooltip="tpustarter --help"),
        Binding("q", "leave(0)", "quit", tooltip="progress is kept"),
        Binding("ctrl+c", "leave(130)", "quit", show=False, priority=True),
    ]

    place: reactive[str] = reactive("")
    """What every heading says on its right: the machine, or who holds its device."""

    def __init__(
        self,
        *,
        machine: Machine | None = None,
        lessons: Path | None = None,
        checks: Path | None = None,
    ) -> None:
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self.register_theme(theme.TERMINAL)
        self.theme = theme.TERMINAL.name
        self.machine = machine or Machine()
        self.lessons, self.checks = lessons, checks
        self.live = Live(lambda holder: self.post_message(messages.Holding(holder)))
        self.edits: dict[tuple[str, str], str] = {}
        """What the learner made of blocks, by lesson and block; kept while the app runs."""
        self.where = self.holder = ""
        self._idle: Timer | None = None
        self.choose(settings.read())

    def get_default_screen(self) -> Screen[Any]:
        """Return the first screen."""
        return Home()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Return what the palette offers here."""
        return commands.offered(self, screen)

    def choose(self, choices: settings.Settings) -> None:
        """Follow the learner's choices."""
        self.choices = choices
        plain = [NoColor()] if choices.plain or self.no_color else []
        self._filters = [one for one in self._filters if not isinstance(one, NoColor)] + plain

    def show_place(self, where: str) -> None:
        """Say what the machine is, once that is known."""
        self.where = where
        self.place = self.live.place(where)

    def on_holding(self, message: messages.Holding) -> None:
        """Say who holds the device, and let go of it when it is not used for a while."""
        if self._idle:
            self._idle.stop()
        idle = self.live.is_warm and not self.live.is_running
        self._idle = self.set_timer(self.live.idle_s, self.release_lesson) if idle else None
        held = message.holder or ""
        if held != self.holder:
            self.holder = held
            self.place = self.live.place(self.where)
            self.screen.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to let go only of what is held, and nothing on top of a sheet."""
        if action == "release":
            return bool(self.holder)
        if action in ("search", "help", "command_palette"):
            below = [one for one in self.screen_stack if not isinstance(one, CommandPalette)]
            return bool(below) and isinstance(below[-1], Page)
        return super().check_action(action, parameters)

    def action_release(self) -> None:
        """End what holds the device: the lesson's process, or the checks that run."""
        self.live.stop_checks()
        self.release_lesson()

    @work(thread=True, exit_on_error=False, group=messages.RELEASE)
    def release_lesson(self) -> None:
        """End the lesson's process."""
        self.live.release()

    def action_search(self) -> None:
        """Search the lessons, from anywhere."""
        commands.open_search(self)

    def action_command_palette(self) -> None:
        """Offer every action."""
        commands.open_palette(self)

    def action_help(self) -> None:
        """Say what can be done on this screen."""
        commands.open_help(self)

    def action_leave(self, code: int) -> None:
        """Quit; what runs is stopped, and its end is waited for once the terminal is restored."""
        for screen in self.screen_stack:
            if isinstance(screen, Page):
                screen.stop_work()
        self.live.stop()
        self.exit(return_code=code)
