"""What tests of the app wait for before they look: whatever is under way, however slow it is."""

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
    """Says something at the end of a chain of which no part uses the processor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "handler"),
        Binding("w", "worker"),
        Binding("t", "timer"),
    ]

    def compose(self) -> ComposeResult:
        """Say that nothing has ended yet."""
        yield Static("begun")

    async def action_handler(self) -> None:
        """Be slow, and go on later."""
        await asyncio.sleep(SLOW_S)  # is slow: a test has to wait for it
        self.call_later(self.action_timer)

    @work
    async def action_worker(self) -> None:
        """Be slow beside the app, and go on in it."""
        await asyncio.sleep(SLOW_S)  # as above
        self.call_later(self.action_handler)

    def action_timer(self) -> None:
        """End in a moment."""
        self.set_timer(0.05, self._say)

    def _say(self) -> None:
        self.query_one(Static).update("ended")


def test_settle_waits_for_handlers_workers_and_timers() -> None:
    """A machine so busy that it gives a test no time looks the same to them."""

    async def journey(key: str) -> None:
        app: Any = Slow()
        async with app.run_test() as pilot:
            assert "ended" in await press(pilot, key)

    for key in "hwt":
        run(lambda key=key: journey(key))
