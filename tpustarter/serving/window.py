"""One window of the tutor: an app in a process of its own, which ends with the window.

textual-serve speaks its protocol, but starts the app through a shell and waits for its end without
limit. Here it is started without one, and it ends within `END_S`.
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
"""How long an app may take to end once it was asked to; then it is killed."""
_MOST_COLUMNS, _MOST_LINES = 500, 200
"""A window that says it is larger gets no more: each cell is drawn."""


class Window(AppService):
    """Starts the app for a window, and ends it."""

    def __init__(self, words: Sequence[str], variables: dict[str, str], **options: Any) -> None:
        """Take the command, as a list of words, and the variables that it gets beside ours."""
        super().__init__(" ".join(words), **options)
        self._words = words
        self._variables = variables

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        width, height = within(width, height)
        environment = {**self._build_environment(width, height), **self._variables}
        environment.pop("NO_COLOR", None)  # the browser has colours, whatever this terminal has
        process = await asyncio.create_subprocess_exec(
            *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment
        )
        assert process.stdin is not None  # noqa: S101  a pipe was asked for
        self._process, self._stdin = process, process.stdin
        return process

    async def set_terminal_size(self, width: int, height: int) -> None:
        """Tell the app the size of its window, in cells."""
        await super().set_terminal_size(*within(width, height))

    async def stop(self) -> None:
        """Ask the app to end, and see to it that it does."""
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
        """Return the process of the app, once it was started."""
        return self._process.pid if self._process else None


def within(width: object, height: object) -> tuple[int, int]:
    """Return a size that can be drawn, whatever a window says."""
    columns, lines = (size if isinstance(size, int) else 0 for size in (width, height))
    return min(max(columns, 1), _MOST_COLUMNS), min(max(lines, 1), _MOST_LINES)


def variables(command: str) -> dict[str, str]:
    """Return what the app is told: the command that its texts name, and a terminal with colours."""
    return {"TPUSTARTER_COMMAND": command, "TERM": os.environ.get("TERM") or "xterm-256color"}
