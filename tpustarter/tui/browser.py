"""The app in a window of a browser: `tpustarter serve` starts it, and talks to it on a pipe."""

from __future__ import annotations

from typing import Any, cast

from textual import events
from textual.drivers.web_driver import WebDriver

from tpustarter.tui.launch import TerminalApp
from tpustarter.tui.launch import run as run_app


class BrowserDriver(WebDriver):
    """Talks to the server, and leaves with it.

    Textual's driver begins without the focus, and textual-serve gives it at a click: until then no
    key would do anything. Here the app has it from the start, and keeps it.
    """

    def start_application_mode(self) -> None:
        """Begin, with the focus."""
        super().start_application_mode()
        app = cast("Any", self._app)
        app.call_later(app.post_message, events.AppFocus())

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Take what the server says of the window, but not that another one has the focus."""
        if packet_type != "blur":
            super().on_meta(packet_type, payload)

    def run_input_thread(self) -> None:
        """Read keys until the app ends, or until the server is gone, however it went."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            app = cast("Any", self._app)
            self._loop.call_soon_threadsafe(app.hang_up)


class BrowserApp(TerminalApp):
    """The app, drawn by a browser."""

    def get_driver_class(self) -> Any:
        """Return the driver that talks to the server."""
        return BrowserDriver


def run() -> int:
    """Run the app; returns its exit code. Raises what broke it."""
    return run_app(BrowserApp(), mouse=True)
