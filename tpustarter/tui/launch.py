"""Starts the app on this terminal, and sees to it that every way out restores it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from tpustarter.problem import ExitCode
from tpustarter.tui.app import Starter
from tpustarter.tui.driver import TerminalDriver
from tpustarter.tui.settings import Settings

GIVE_UP_S = 15.0
"""After a signal the program is gone by then, even with a terminal that takes no more output."""
RARELY = 100
"""Collections of the middle generation before a full one, 30 to 80 ms of no answer to a key: after
about 700,000 objects more, those of some ten lessons."""
_CODES = {
    signal.SIGINT: ExitCode.INTERRUPTED,
    signal.SIGTERM: ExitCode.TERMINATED,
    signal.SIGHUP: ExitCode.TERMINATED,
}


def run(app: TerminalApp | None = None, *, mouse: bool | None = None) -> int:
    """Run the app; returns its exit code. Raises what broke it, with the terminal restored.

    With the mouse the app gets its clicks; without a value the learner's choice is followed.
    """
    app = app or TerminalApp()
    handlers = {number: signal.getsignal(number) for number in _CODES}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:  # under nohup, or in the background
            signal.signal(number, app.leave_by_signal)
    threading.excepthook = lambda broken: app.end_as_bug(broken.exc_value or Exception("unknown"))
    gc.disable()  # until the first screen is there: looking through what stays delays it
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


class TerminalApp(Starter):
    """The app of a process of its own: it follows signals, and hands an error of ours on."""

    _code: ExitCode | None = None
    """Why it is to leave, if it is."""
    _is_ready = False

    def get_driver_class(self) -> type[TerminalDriver]:
        """Return the driver that no input breaks."""
        return TerminalDriver

    def choose(self, choices: Settings) -> None:
        """Follow the learner's choices, at once that of the mouse too."""
        super().choose(choices)
        if isinstance(self._driver, TerminalDriver):
            self._driver.use_mouse(on=choices.mouse)

    def on_load(self) -> None:
        """Miss no error of what runs beside the messages."""
        asyncio.get_running_loop().set_exception_handler(self._end_task)

    def on_mount(self) -> None:
        """Wait for the first screen: before it is there, it cannot be left."""
        self.screen.call_after_refresh(self._get_ready)

    def _get_ready(self) -> None:
        self._is_ready = True
        gc.freeze()  # else a full collection, 30 to 70 ms of it, comes between key and paint
        gc.set_threshold(*gc.get_threshold()[:2], RARELY)
        gc.enable()
        if self._code is not None:
            self.action_leave(self._code)

    def hang_up(self) -> None:
        """Leave: the terminal is gone."""
        self._leave(ExitCode.TERMINATED)

    def leave_by_signal(self, number: int, _: object) -> None:
        """Leave in bounded time; called by Python between any two steps of the loop."""
        code = _CODES[signal.Signals(number)]
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the terminal is not ours yet, or not any more
            os._exit(code)
        _run_later(GIVE_UP_S, lambda: self._give_up(code))
        loop.call_soon_threadsafe(self._leave, code)

    def _leave(self, code: ExitCode) -> None:
        self._code = code
        if self._is_ready:
            self.action_leave(code)

    def _give_up(self, code: ExitCode) -> None:
        if isinstance(self._driver, TerminalDriver):
            self._driver.give_back()
        os._exit(code)

    def end_as_bug(self, error: BaseException) -> None:
        """Close the app; the one place that shows errors has the terminal to itself then."""
        self.broke = self.broke or error
        if self._loop and self._loop.is_running():
            self._loop.call_soon_threadsafe(self.exit, None, ExitCode.BUG)

    def _end_task(self, _: object, context: dict[str, Any]) -> None:
        if isinstance(error := context.get("exception"), Exception):
            self.end_as_bug(error)

    def _handle_exception(self, error: Exception) -> None:
        self.end_as_bug(error)


def _run_later(seconds: float, callback: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, callback)
    timer.daemon = True
    timer.start()
