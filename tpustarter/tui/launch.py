"""Starts the app on this terminal, and sees to it that every way out restores it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable

from tpustarter.problem import ExitCode
from tpustarter.tui.app import Starter

GIVE_UP_S = 15.0
"""After a signal the program is gone by then, even with a terminal that takes no more output."""
_CODES = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.TERMINATED,
}


def run(app: TerminalApp | None = None) -> int:
    """Run the app; returns its exit code. Raises what broke it, with the terminal restored."""
    app = app or TerminalApp()
    try:
        app.run(mouse=False)
    finally:
        app.live.release()
    if app.broke:
        raise app.broke
    return app.return_code or 0


class TerminalApp(Starter):
    """The app of a process of its own: it follows signals, and hands an error of ours on."""

    broke: Exception | None = None

    def on_mount(self) -> None:
        """Follow signals."""
        loop = asyncio.get_running_loop()
        for number, code in _CODES.items():
            with contextlib.suppress(ValueError, NotImplementedError):
                loop.add_signal_handler(number, self._leave_by_signal, code)

    def _leave_by_signal(self, code: ExitCode) -> None:
        _run_later(GIVE_UP_S, lambda: os._exit(code))
        self.action_leave(code)

    def _handle_exception(self, error: Exception) -> None:
        """Close the app; the one place that shows errors has the terminal to itself then."""
        self.broke = self.broke or error
        self.exit(return_code=ExitCode.BUG)


def _run_later(seconds: float, callback: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, callback)
    timer.daemon = True
    timer.start()
