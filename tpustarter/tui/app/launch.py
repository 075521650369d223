"""Running the app in a terminal or a browser, and restoring the terminal however it ends."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading

from textual.driver import Driver

from tpustarter.core.problem import ExitCode
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.app.settings import Settings
from tpustarter.tui.terminal.driver import TerminalDriver

GIVE_UP_S = 15.0
"""Maximum time from a signal to the program's exit, even if the terminal accepts no output."""
RARELY = 100
"""Garbage collections of the middle generation before a full collection.

A full collection blocks all keys for 30 to 80 ms. With this value, it runs after about 700,000 new
objects, which is about ten lessons.
"""
_CODES = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.TERMINATED,
}


def run_app(app: TerminalApp | None = None, *, mouse: bool | None = None) -> int:
    """Run the app, return its exit code, and restore the terminal.

    The exception that ended the app, if any, is raised again.

    Args:
        app: The app to run; None creates a `TerminalApp`.
        mouse: Whether the app receives mouse clicks; None follows the user's settings.
    """
    app = app or TerminalApp()
    handlers = {number: signal.getsignal(number) for number in _CODES}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:  # signals are ignored under nohup or in the background
            signal.signal(number, app.leave_by_signal)
    threading.excepthook = lambda broken: app.end_as_bug(broken.exc_value or Exception("unknown"))
    gc.disable()  # until the first screen is shown, because collections would delay it
    try:
        app.run(mouse=app.choices.mouse if mouse is None else mouse)
    finally:
        app.live.release()
        threading.excepthook = threading.__excepthook__
        gc.enable()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if app.first_error:
        raise app.first_error
    return app.return_code or 0


def run_in_browser() -> int:
    """Run the app for `tpustarter serve`, which communicates with it through a pipe."""
    return run_app(BrowserApp(), mouse=True)


class TerminalApp(TpustarterApp):
    """The app in its own process: it handles signals, and `run_app` raises its bugs."""

    _code: ExitCode | None = None
    """The exit code after a signal or a lost terminal, or None."""
    _is_ready = False

    def get_driver_class(self) -> type[Driver]:
        return TerminalDriver

    def choose(self, choices: Settings) -> None:
        """Apply the user's settings, including the mouse setting."""
        super().choose(choices)
        if isinstance(self.driver, TerminalDriver):
            self.driver.use_mouse(on=choices.mouse)

    def on_load(self) -> None:
        """Handle exceptions of tasks outside the message loop."""
        asyncio.get_running_loop().set_exception_handler(self._end_task)

    def on_mount(self) -> None:
        """Wait for the first screen, because the app cannot exit before it is shown."""
        self.screen.call_after_refresh(self._get_ready)

    def _get_ready(self) -> None:
        self._is_ready = True
        gc.freeze()  # otherwise a full collection of 30 to 70 ms would delay a key
        gc.set_threshold(*gc.get_threshold()[:2], RARELY)
        gc.enable()
        if self._code is not None:
            self.action_leave(self._code)

    def hang_up(self) -> None:
        """Exit because the terminal is gone."""
        self._leave(ExitCode.TERMINATED)

    def leave_by_signal(self, number: int, _: object) -> None:
        """Exit within `GIVE_UP_S`; Python may call this at any point of the event loop."""
        code = _CODES[signal.Signals(number)]
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the app does not control the terminal now
            os._exit(code)
        timer = threading.Timer(GIVE_UP_S, lambda: self._give_up(code))
        timer.daemon = True
        timer.start()
        loop.call_soon_threadsafe(self._leave, code)

    def _leave(self, code: ExitCode) -> None:
        self._code = code
        if self._is_ready:
            self.action_leave(code)

    def _give_up(self, code: ExitCode) -> None:
        if isinstance(self.driver, TerminalDriver):
            self.driver.give_back()
        os._exit(code)

    def end_as_bug(self, error: BaseException) -> None:
        """Close the app; `run_app` raises the error once the terminal is restored."""
        self.first_error = self.first_error or error
        self.call_in_loop(self.exit, None, ExitCode.BUG)

    def _end_task(self, _: object, context: dict[str, object]) -> None:
        if isinstance(error := context.get("exception"), Exception):
            self.end_as_bug(error)


class BrowserApp(TerminalApp):
    """The app shown in a browser."""

    def get_driver_class(self) -> type[Driver]:
        from tpustarter.tui.terminal.browser_driver import BrowserDriver

        return BrowserDriver
