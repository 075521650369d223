"""Tests of `settle`, which waits until an app has nothing left to do."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from tests.support.tutor import press, run

SLOW_S = 0.2
"""Longer than Textual's own `pause` waits for a process that uses no processor, in seconds."""


class Slow(App[None]):
    """An app that finishes after a chain of slow handlers, workers and timers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "handler"),
        Binding("w", "worker"),
        Binding("t", "timer"),
    ]

    def compose(self) -> ComposeResult:
        """Show that the chain has not ended yet."""
        yield Static("begun")

    async def action_handler(self) -> None:
        """Sleep, then call the next step."""
        await asyncio.sleep(SLOW_S)  # is slow: a test has to wait for it
        self.call_later(self.action_timer)

    @work
    async def action_worker(self) -> None:
        """Sleep in a worker, then call the next step."""
        await asyncio.sleep(SLOW_S)  # as above
        self.call_later(self.action_handler)

    def action_timer(self) -> None:
        """Show that the chain has ended."""
        self.set_timer(0.05, self._say)

    def _say(self) -> None:
        self.query_one(Static).update("ended")


def test_settle_waits_for_handlers_workers_and_timers() -> None:
    """`settle` waits for chains of handlers, workers and timers to end."""

    async def journey(key: str) -> None:
        app: Any = Slow()
        async with app.run_test() as pilot:
            assert "ended" in await press(pilot, key)

    for key in "hwt":
        run(lambda key=key: journey(key))
