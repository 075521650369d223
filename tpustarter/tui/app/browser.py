"""The app in a browser window: `tpustarter serve` starts it and talks to it through a pipe."""

from __future__ import annotations

from typing import Any

from tpustarter.tui.app.launch import TerminalApp
from tpustarter.tui.app.launch import run as run_app
from tpustarter.tui.terminal.browser_driver import BrowserDriver


class BrowserApp(TerminalApp):
    """The app, shown in a browser."""

    def get_driver_class(self) -> Any:
        return BrowserDriver


def run() -> int:
    """Run the app and return its exit code; raise the exception that ended it, if there was one."""
    return run_app(BrowserApp(), mouse=True)
