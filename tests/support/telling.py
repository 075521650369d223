"""Makes an app on a terminal report its progress in a pipe, so that tests can wait for facts.

`Terminal` passes the pipe in the environment. The lines are `ready`, once the first screen is
drawn, and `acted N`, once N bytes of input were read, form complete keys, and were handled.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import Any

from tpustarter.tui.app import launch
from tpustarter.tui.terminal import keyboard

VARIABLE = "TPUSTARTER_TEST_PIPE"


def install() -> None:
    """Begin to write to the pipe, if there is one."""
    if VARIABLE not in os.environ:
        return
    pipe = int(os.environ.pop(VARIABLE))
    os.set_blocking(pipe, False)
    os.set_inheritable(pipe, False)

    def tell(line: str) -> None:
        with contextlib.suppress(OSError):  # the reader may be gone
            os.write(pipe, line.encode() + b"\n")

    running: list[tuple[launch.TerminalApp, asyncio.AbstractEventLoop]] = []
    get_ready = launch.TerminalApp._get_ready
    feed, pause = keyboard.Keyboard.feed, keyboard.Keyboard.pause
    count, told = 0, 0

    def ready(app: launch.TerminalApp) -> None:
        running.append((app, asyncio.get_running_loop()))
        get_ready(app)
        tell("ready")

    def counted(board: keyboard.Keyboard, data: bytes) -> Iterator[Any]:
        nonlocal count
        yield from feed(board, data)
        count += len(data)

    def paused(board: keyboard.Keyboard) -> Iterator[Any]:
        nonlocal told
        yield from pause(board)
        if running and count > told and not board.is_waiting:
            told = count
            (app, loop), line = running[0], f"acted {count}"
            with contextlib.suppress(RuntimeError):  # the app has ended
                loop.call_soon_threadsafe(app.call_later, app.call_after_refresh, tell, line)

    launch.TerminalApp._get_ready = ready  # type: ignore[method-assign]
    keyboard.Keyboard.feed = counted  # type: ignore[method-assign]
    keyboard.Keyboard.pause = paused  # type: ignore[method-assign]
