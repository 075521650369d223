"""One window of the tutor: an app in its own process, which ends with the window.

textual-serve implements the protocol, but starts the app through a shell and waits indefinitely for
it to exit. This subclass starts it without a shell, and kills it after `END_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Any

from textual_serve.app_service import AppService

END_S = 10.0
"""Seconds that an app has to exit before it is killed."""
_MOST_COLUMNS, _MOST_LINES = 500, 200
"""Largest window size in cells, limited because every cell is drawn."""


class AppWindow(AppService):
    """A browser window and the app process that it shows."""

    def __init__(self, words: Sequence[str], variables: dict[str, str], **options: Any) -> None:
        """Take the app's command and its extra environment variables."""
        super().__init__(" ".join(words), **options)  # textual-serve's own
        self._words = words
        self._variables = variables

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        width, height = limit_terminal_size(width, height)
        environment = {**self._build_environment(width, height), **self._variables}
        environment.pop("NO_COLOR", None)  # the browser has colours, even if this terminal has none
        process = await asyncio.create_subprocess_exec(
            *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment
        )
        assert process.stdin is not None  # noqa: S101  a pipe was asked for
        self._process, self._stdin = process, process.stdin
        return process

    async def set_terminal_size(self, width: int, height: int) -> None:
        """Send the window's size in cells to the app."""
        await super().set_terminal_size(*limit_terminal_size(width, height))

    async def stop(self) -> None:
        """Ask the app to exit, and kill it if it does not."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(super().stop(), END_S)
        if process.returncode is None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), 1.0)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    @property
    def pid(self) -> int | None:
        """The app's process id, or None before it starts."""
        return self._process.pid if self._process else None


def limit_terminal_size(width: object, height: object) -> tuple[int, int]:
    """Return the drawable size that is nearest to the one a browser sent."""
    columns, lines = (size if isinstance(size, int) else 0 for size in (width, height))
    return min(max(columns, 1), _MOST_COLUMNS), min(max(lines, 1), _MOST_LINES)


def app_variables(command: str) -> dict[str, str]:
    """Return the app's variables: the command that its texts name, and a colour terminal."""
    return {"TPUSTARTER_COMMAND": command, "TERM": os.environ.get("TERM") or "xterm-256color"}
