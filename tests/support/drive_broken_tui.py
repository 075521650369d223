"""Runs the app on its terminal, with one fault outside the reach of its own handlers.

`drive_broken_tui.py NAME`: a row of `BREAKS`.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import sys
import termios
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support import telling
from tpustarter import __main__
from tpustarter.text.terminal import LossyStream
from tpustarter.tui.app.app import TpustarterApp
from tpustarter.tui.app.device_use import LessonSessionOwner
from tpustarter.tui.home import machine_facts
from tpustarter.tui.home.screen import HomeScreen
from tpustarter.tui.terminal import keyboard
from tpustarter.tui.terminal.driver import TerminalDriver


def broken(*_: Any, **__: Any) -> Any:
    """Raise an error."""
    raise ZeroDivisionError("broken on purpose")


def broken_at(number: int, act: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does as `act`, but raises an error at one of its calls."""
    calls = itertools.count(1)
    return lambda *arguments: broken() if next(calls) == number else act(*arguments)


def when_shown(act: Callable[[Any], object]) -> None:
    """Do something once the first screen is shown."""
    mount = HomeScreen.on_mount

    def on_mount(home: HomeScreen) -> None:
        mount(home)
        home.call_after_refresh(act, home)

    HomeScreen.on_mount = on_mount


def refuse_threads(count: int) -> None:
    """Refuse to start more than some threads, as a limit on processes does."""
    start, started = threading.Thread.start, []

    def limited(thread: threading.Thread) -> None:
        started.append(thread)
        if len(started) > count:
            raise RuntimeError("can't start new thread")
        start(thread)

    threading.Thread.start = limited


async def broken_later() -> None:
    """Raise an error in a task."""
    await asyncio.sleep(0)
    broken()


BREAKS: dict[str, Callable[[], object]] = {
    "input-thread": lambda: setattr(keyboard.Keyboard, "feed", broken),
    "input-pause": lambda: setattr(keyboard.Keyboard, "pause", broken),
    "driver-made": lambda: setattr(TerminalDriver, "_get_terminal_size", broken),
    "driver-starts": lambda: setattr(TerminalDriver, "_disable_line_wrap", broken),
    "driver-ends": lambda: setattr(TerminalDriver, "_enable_line_wrap", broken),
    "driver-writes": lambda: setattr(LossyStream, "draw", broken_at(8, LossyStream.draw)),
    "worker": lambda: setattr(machine_facts, "collect_machine_facts", broken),
    "worker-of-the-app": lambda: (
        when_shown(lambda home: home.app.release_lesson()),
        setattr(LessonSessionOwner, "release", broken_at(1, LessonSessionOwner.release)),
    ),
    "thread": lambda: when_shown(lambda _: threading.Thread(target=broken).start()),
    "task": lambda: when_shown(
        lambda _: asyncio.get_running_loop().create_task(broken_later()) and None
    ),
    "callback": lambda: when_shown(lambda _: asyncio.get_running_loop().call_soon(broken)),
    "action": lambda: setattr(TpustarterApp, "action_help", broken),
    "compose": lambda: setattr(HomeScreen, "body", broken),
    "mount": lambda: setattr(HomeScreen, "on_mount", broken),
    "default-screen": lambda: setattr(TpustarterApp, "get_default_screen", broken),
    "style": lambda: setattr(TpustarterApp, "CSS_PATH", "nothing.tcss"),
}

LIMITS: dict[str, Callable[[], object]] = {
    "no-thread": lambda: refuse_threads(0),
    "one-thread": lambda: refuse_threads(1),
}
"""Limits of the machine, which are no errors of ours."""


if __name__ == "__main__":
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    telling.install()
    (BREAKS | LIMITS)[sys.argv[1]]()
    sys.argv = sys.argv[:1]
    __main__.main()
