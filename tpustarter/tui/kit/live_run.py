"""A run that a screen follows: its events come from a worker, with a clock and a way to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic

from textual.timer import Timer

from tpustarter.tui.app.messages import Event, EventInbox, EventsArrived
from tpustarter.tui.terminal.app_internals import AnyScreen


class LiveRun(Generic[Event]):
    """One run at a time; the screen takes its events whenever they have arrived."""

    def __init__(
        self,
        screen: AnyScreen,
        group: str,
        tick: Callable[[], object] | None = None,
        *,
        tick_s: float = 1.0,
    ) -> None:
        """Prepare for runs.

        Args:
            screen: The screen that is told of events by `EventsArrived`.
            group: The group of the worker.
            tick: Shows the time; called when a run begins, and then again and again.
            tick_s: Seconds between two ticks.
        """
        self._screen, self._group = screen, group
        self._tick, self._tick_s = tick, tick_s
        self._inbox: EventInbox[Event | None] = EventInbox()
        self._clock: Timer | None = None
        self._began = 0.0
        self._stop: Callable[[], object] | None = None
        self.stopped = threading.Event()
        """Set once the user has stopped the run; a worker may wait for it."""
        self.is_busy = False
        """True if something runs, or its last events have not been taken yet."""

    @property
    def is_stopped(self) -> bool:
        """True if the user has stopped the run, which may not have ended yet."""
        return self.stopped.is_set()

    @property
    def can_stop(self) -> bool:
        """True if something runs that was not stopped yet."""
        return self.is_busy and not self.is_stopped

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def begin(self, events: Callable[[], Iterable[Event]]) -> None:
        """Start a run: call `events` in a worker thread, and post its events one by one.

        Events of an earlier run that are still on their way are dropped.
        """
        self._end()
        self._inbox, self.stopped, self._stop = EventInbox(), threading.Event(), None
        self.is_busy, self._began = True, time.monotonic()
        if self._tick:
            self._clock = self._screen.set_interval(self._tick_s, self._tick)
        self.tick()
        play = partial(self._play, events, self._inbox)
        self._screen.run_worker(
            play, thread=True, exclusive=True, exit_on_error=False, group=self._group
        )

    def tick(self) -> None:
        """Show the time, and whether the run was stopped."""
        if self._tick:
            self._tick()

    def _play(self, events: Callable[[], Iterable[Event]], inbox: EventInbox[Event | None]) -> None:
        try:
            for event in events():
                self._pass_on(event, inbox)
        finally:
            self._pass_on(None, inbox)

    def _pass_on(self, event: Event | None, inbox: EventInbox[Event | None]) -> None:
        if inbox.add_event(event):
            self._screen.post_message(EventsArrived(inbox))

    def take_events(self, message: EventsArrived) -> list[Event]:
        """Return the events that have arrived; the run stops being busy with its last event.

        That is so for a run that broke, too.
        """
        events = self._inbox.take_events() if message.inbox is self._inbox else []
        if None in events:
            self._end()
        return [event for event in events if event is not None]

    def _end(self) -> None:
        self.is_busy = False
        if self._clock:
            self._clock.stop()
            self._clock = None

    def on_stop(self, stop: Callable[[], object]) -> None:
        """Register the function that stops the run; call it at once if a stop was requested."""
        self._stop = stop
        if self.is_stopped:
            stop()

    def stop(self) -> None:
        """Stop the run and return at once."""
        self.stopped.set()
        if self._stop:
            self._stop()
