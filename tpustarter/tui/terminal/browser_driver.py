"""The driver of the app in a browser window."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.drivers.web_driver import WebDriver


class BrowserDriver(WebDriver):
    """Textual's driver for a browser, with the focus from the start, that ends with the server.

    Textual's driver begins without the focus, and textual-serve gives it at a click: until then no
    key would do anything. Here the app has the focus from the start, and keeps it.
    """

    def start_application_mode(self) -> None:
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a packet of the server, but not the loss of focus to another window."""
        if packet_type != "blur":
            super().on_meta(packet_type, payload)

    def run_input_thread(self) -> None:
        """Read keys until the app ends or the connection to the server is lost."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            app: Any = self._app  # Textual knows no `hang_up`
            self._loop.call_soon_threadsafe(app.hang_up)
