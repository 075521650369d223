"""Access to private parts of Textual's `App` (8.2.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen

from tpustarter.tui.terminal.key_queue import SequentialKeys

AnyScreen = Screen[Any]
"""A screen, whatever it returns: Textual takes no screen of `object` for it."""


class AppInternals(SequentialKeys, inherit_bindings=False):
    """An app with access to its driver, filters and event loop."""

    OTHER_SHEETS: ClassVar[Sequence[Path]] = ()
    """Style sheets that the first screen does not need; they come after those of `CSS_PATH`."""

    @property
    def driver(self) -> Driver | None:
        """The driver, or None if the app has no terminal."""
        return self._driver

    def use_filters(self, kind: type[LineFilter], filters: list[LineFilter]) -> None:
        """Replace the line filters of a kind with the given ones."""
        self._filters = [item for item in self._filters if not isinstance(item, kind)] + filters

    def replace_screen(self, screen: AnyScreen) -> None:
        """Replace the current screen."""
        self.switch_screen(screen)  # pyright: ignore[reportUnknownMemberType]

    def call_in_loop(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the event loop from any thread, if the loop is running."""
        if self._loop and self._loop.is_running():
            self._loop.call_soon_threadsafe(function, *arguments)

    def _load_screen_css(self, screen: AnyScreen) -> None:
        """Read the other style sheets once a second screen is opened, for a fast first paint."""
        new = [path for path in self.OTHER_SHEETS if not self.stylesheet.has_source(str(path))]
        if new:
            self.stylesheet.read_all(new)
            self.stylesheet.parse()
        super()._load_screen_css(screen)  # pyright: ignore[reportUnknownMemberType]

    def end_as_bug(self, error: Exception) -> None:
        """End the app because of an unhandled exception, which Textual prints."""
        super()._handle_exception(error)

    def _handle_exception(self, error: Exception) -> None:
        self.end_as_bug(error)
