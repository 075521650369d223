"""A run that a screen follows: first to last event, stopped or failed."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from tests.support.tutor import until
from tpustarter.tui.app.messages import EventsArrived
from tpustarter.tui.kit.screen_runner import ScreenRunner


class Follower(Screen[None]):
    """A screen that stores the events of its runner."""

    def __init__(self) -> None:
        super().__init__()
        self.ticks = 0
        self.events: list[int] = []
        self.ends = 0
        self.runner = ScreenRunner[int](self, "sample", self.tick)

    def tick(self) -> None:
        """Count the ticks."""
        self.ticks += 1

    def on_events_arrived(self, message: EventsArrived) -> None:
        """Store the events and count the ends."""
        self.events += self.runner.take_events(message)
        self.ends += not self.runner.is_busy


@asynccontextmanager
async def followed() -> AsyncIterator[tuple[Pilot[None], Follower]]:
    """Start an app with a screen that follows a run."""
    app: App[None] = App()
    async with app.run_test() as pilot:
        screen = Follower()
        await app.push_screen(screen)
        yield pilot, screen


async def test_events_arrive_in_order_and_end_once() -> None:
    """Events arrive in order with one end, and a later run starts anew."""
    async with followed() as (pilot, screen):
        for count in (1, 2):
            screen.runner.begin(lambda: iter(range(9)))
            assert screen.runner.is_busy
            assert screen.runner.can_stop
            await until(pilot, lambda: not screen.runner.is_busy)
            assert [*range(9)] * count == screen.events
            assert count == screen.ends
            assert not screen.runner.can_stop
        assert screen.ticks >= 2


async def test_stop_before_anything_runs_is_kept() -> None:
    """A process that starts after the stop is stopped at once."""
    may_go_on, stopped = threading.Event(), threading.Event()

    async with followed() as (pilot, screen):

        def play() -> Iterator[int]:
            may_go_on.wait()
            screen.runner.on_stop(stopped.set)
            yield 1

        screen.runner.begin(play)
        screen.runner.stop()
        assert not screen.runner.can_stop
        assert screen.runner.is_busy
        may_go_on.set()
        await until(pilot, lambda: not screen.runner.is_busy)
        assert stopped.is_set()
        assert [1] == screen.events


async def test_broken_run_ends_as_well() -> None:
    """A run that raises ends, and its events are kept."""
    async with followed() as (pilot, screen):

        def play() -> Iterator[int]:
            yield 1
            raise ZeroDivisionError

        screen.runner.begin(play)
        await until(pilot, lambda: not screen.runner.is_busy)
        assert [1] == screen.events


async def test_events_of_an_earlier_run_are_dropped() -> None:
    """Events that a worker sends after the next run has begun are dropped."""
    has_begun, may_end, has_ended = (threading.Event() for _ in range(3))

    async with followed() as (pilot, screen):

        def late() -> Iterator[int]:
            has_begun.set()
            may_end.wait()
            yield 1
            has_ended.set()

        screen.runner.begin(late)
        await until(pilot, has_begun.is_set)
        screen.runner.begin(lambda: iter([2]))
        may_end.set()
        await until(pilot, lambda: not screen.runner.is_busy and has_ended.is_set())
        await pilot.pause()
        assert [2] == screen.events
