"""The driver for the app in a browser."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.drivers.web_driver import WebDriver


class BrowserDriver(WebDriver):
    """Textual's browser driver, focused from the start, and ended when the server ends.

    Textual's driver starts without the focus, which textual-serve sends only after a click, so keys
    would do nothing until then. Here the app has the focus from the start and keeps it.
    """

    def start_application_mode(self) -> None:
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a packet from the server, except the loss of focus."""
        if packet_type != "blur":
            super().on_meta(packet_type, payload)

    def run_input_thread(self) -> None:
        """Read keys until the app ends or the connection to the server is lost."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            app: Any = self._app  # Textual knows no `hang_up`
            self._loop.call_soon_threadsafe(app.hang_up)
