"""The start of the app on this terminal or in a browser; every way out restores the terminal."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable

from textual.driver import Driver

from tpustarter.core.problem import ExitCode
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.app.settings import Settings
from tpustarter.tui.terminal.driver import TerminalDriver

GIVE_UP_S = 15.0
"""The longest that the program lives after a signal, even if the terminal takes no more output."""
RARELY = 100
"""Collections of the middle generation before a full one.

A full one takes 30 to 80 ms, in which no key is answered; with this value it comes after about
700,000 more objects, those of some ten lessons.
"""
_CODES = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.TERMINATED,
}


def run_app(app: TerminalApp | None = None, *, mouse: bool | None = None) -> int:
    """Run the app and return its exit code; raise the exception that ended it, if there was one.

    The terminal is restored in either case. `mouse` says whether the app gets mouse clicks; None
    follows the user's settings.
    """
    app = app or TerminalApp()
    handlers = {number: signal.getsignal(number) for number in _CODES}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:  # ignored under nohup, or in the background
            signal.signal(number, app.leave_by_signal)
    threading.excepthook = lambda broken: app.end_as_bug(broken.exc_value or Exception("unknown"))
    gc.disable()  # until the first screen is there: collections would delay it
    try:
        app.run(mouse=app.choices.mouse if mouse is None else mouse)
    finally:
        app.live.release()
        threading.excepthook = threading.__excepthook__
        gc.enable()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if app.broke:
        raise app.broke
    return app.return_code or 0


def run_in_browser() -> int:
    """Run the app as `run_app` does, for `tpustarter serve`, which talks to it through a pipe."""
    return run_app(BrowserApp(), mouse=True)


class TerminalApp(TpustarterApp):
    """The app in a process of its own: it follows signals, and passes bugs on to `run_app`."""

    _code: ExitCode | None = None
    """The exit code of a signal or a lost terminal; None while the app stays."""
    _is_ready = False

    def get_driver_class(self) -> type[Driver]:
        return TerminalDriver

    def choose(self, choices: Settings) -> None:
        """Apply the user's settings, that of the mouse at once."""
        super().choose(choices)
        if isinstance(self.driver, TerminalDriver):
            self.driver.use_mouse(on=choices.mouse)

    def on_load(self) -> None:
        """Catch the exceptions of tasks that run beside the message loop."""
        asyncio.get_running_loop().set_exception_handler(self._end_task)

    def on_mount(self) -> None:
        """Wait for the first screen, because the app cannot be left before it is there."""
        self.screen.call_after_refresh(self._get_ready)

    def _get_ready(self) -> None:
        self._is_ready = True
        gc.freeze()  # else a full collection of 30 to 70 ms comes between key and paint
        gc.set_threshold(*gc.get_threshold()[:2], RARELY)
        gc.enable()
        if self._code is not None:
            self.action_leave(self._code)

    def hang_up(self) -> None:
        """Leave because the terminal is gone."""
        self._leave(ExitCode.TERMINATED)

    def leave_by_signal(self, number: int, _: object) -> None:
        """Leave in bounded time; Python calls this between any two steps of the event loop."""
        code = _CODES[signal.Signals(number)]
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the app does not have the terminal at this time
            os._exit(code)
        _run_later(GIVE_UP_S, lambda: self._give_up(code))
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
        """Close the app and keep the bug for `run_app` to raise once the terminal is restored."""
        self.broke = self.broke or error
        self.call_in_loop(self.exit, None, ExitCode.BUG)

    def _end_task(self, _: object, context: dict[str, object]) -> None:
        if isinstance(error := context.get("exception"), Exception):
            self.end_as_bug(error)


class BrowserApp(TerminalApp):
    """The app, shown in a browser."""

    def get_driver_class(self) -> type[Driver]:
        from tpustarter.tui.terminal.browser_driver import BrowserDriver

        return BrowserDriver


def _run_later(seconds: float, callback: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, callback)
    timer.daemon = True
    timer.start()
