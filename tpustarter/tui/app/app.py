"""The Textual app, which connects the screens and defines the keys that work on all of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette

from tpustarter.core.problem import ExitCode
from tpustarter.tui.app.navigation import Navigation
from tpustarter.tui.app.session import AppSession
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.kit.page import (
    RELEASE,
    ConfirmEndProcess,
    ConfirmQuit,
    ConfirmQuitWhileTyping,
    Page,
)
from tpustarter.tui.kit.text_layout import FRAMED
from tpustarter.tui.terminal.app_internals import AnyScreen

if TYPE_CHECKING:
    from textual.command import Provider


def _commands() -> type[Provider]:
    # The first paint does not need it.
    from tpustarter.tui.app.palette_commands import PaletteCommands

    return PaletteCommands


COPIED = (
    "Sent to your terminal's clipboard. If it doesn't arrive there, hold Shift while you select, "
    "or Option on macOS: then the terminal itself selects."
)


class TpustarterApp(AppSession, inherit_bindings=False):
    """The app with all its screens."""

    CSS_PATH = [  # noqa: RUF012  as below; the later one of two equal selectors wins
        "../kit/kit.tcss",
        "app.tcss",
        "../home/home.tcss",
    ]
    OTHER_SHEETS = tuple(
        Path(__file__).parents[1] / name / f"{name}.tcss"
        for name in (
            "library",
            "lesson",
            "exercise",
            "checks",
            "rehearse",
            "setup",
            "explain",
            "tpus",
            "watch",
        )
    )
    VERTICAL_BREAKPOINTS = [(0, "-short"), (14, "-tall"), (20, "-high")]  # noqa: RUF012  as below
    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (FRAMED, "-wide")]  # noqa: RUF012  declared as Textual does
    COMMAND_PALETTE_BINDING = "colon"
    COMMANDS = {_commands}  # noqa: RUF012  declared as Textual does
    BINDINGS: ClassVar[list[BindingType]] = [
        *RELEASE,
        Binding("slash", "search", "search", key_display="/", tooltip="tpustarter learn --search"),
        Binding("colon", "command_palette", "more", key_display=":", tooltip="every command"),
        Binding("question_mark", "help", "help", key_display="?", tooltip="tpustarter --help"),
        Binding("f1", "help", "help", key_display="F1", tooltip="where ? is a letter of a text"),
        Binding("q", "leave(0)", "quit", tooltip="progress is kept"),
        Binding(
            "ctrl+c",
            "interrupt",
            "stop what runs",
            key_display="Ctrl+C",
            show=False,
            tooltip="with nothing running it asks whether to quit",
            priority=True,
        ),
    ]

    def on_load(self) -> None:
        self.go = Navigation(self)

    def get_default_screen(self) -> AnyScreen:
        return HomeScreen()

    def get_system_commands(self, screen: AnyScreen) -> Iterable[SystemCommand]:
        from tpustarter.tui.app import palette_commands

        return palette_commands.available_commands(self, screen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow `release` only while a device is held, and search, help and palette on pages."""
        if action == "release":
            return self.holder is not None
        if action in ("search", "help", "command_palette"):
            screens = [
                screen for screen in self.screen_stack if not isinstance(screen, CommandPalette)
            ]
            return bool(screens) and isinstance(screens[-1], Page)
        return super().check_action(action, parameters)

    def on_text_selected(self) -> None:
        if text := self.screen.get_selected_text():
            self.copy_to_clipboard(text)
            self.notify(COPIED, markup=False)

    def action_release(self) -> None:
        """End the lesson's or the checks' process that holds the device.

        A TPU or GPU is released immediately. Otherwise, if something would be lost, the user has to
        confirm, because the key may have been a letter meant for an editor.
        """
        if isinstance(self.screen, ConfirmEndProcess):
            return  # the stray letter was typed again
        pages = (screen for screen in reversed(self.screen_stack) if isinstance(screen, Page))
        lost = next((page.LOST_WITH_PROCESS for page in pages), "")
        if lost and not self.live.owns_accelerator:
            self.push_screen(ConfirmEndProcess("End the process?", lost), self._release)
        else:
            self._release(yes=True)

    def _release(self, yes: bool | None) -> None:  # noqa: FBT001  Textual's signature
        if yes:
            self.live.stop_checks()
            self.release_lesson()

    def action_search(self) -> None:
        self.go.open_search()

    def action_command_palette(self) -> None:
        self.go.open_palette()

    def action_help(self) -> None:
        self.go.open_help()

    def action_interrupt(self) -> None:
        """Stop the running work; without any, copy an editor's selection or ask whether to quit."""
        if isinstance(self.screen, ConfirmQuit):
            self.screen.action_answer(yes=True)
            return
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Page) and screen.can_stop and screen.stop_work():
                screen.refresh_bindings()
                return
        copy_selected = getattr(self.focused, "copy_selected", None)
        if copy_selected and copy_selected():
            return
        is_typing = self.focused is not None and self.focused.check_consume_key("y", "y")
        self.push_screen(ConfirmQuitWhileTyping() if is_typing else ConfirmQuit(), self._quit)

    def _quit(self, yes: bool | None) -> None:  # noqa: FBT001  Textual's signature
        if yes:
            self.action_leave(ExitCode.INTERRUPTED)

    def action_leave(self, code: int) -> None:
        """Stop running work and quit; `run_app` waits for the lesson's process to end."""
        for screen in self.screen_stack:
            if isinstance(screen, Page):
                screen.stop_work()
        self.live.stop()
        self.exit(return_code=code)
