"""The runner of a screen's work in a worker thread, with a clock and a stop function."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic

from textual.timer import Timer

from tpustarter.tui.app.messages import Event, EventInbox, EventsArrived
from tpustarter.tui.terminal.app_internals import AnyScreen


class ScreenRunner(Generic[Event]):
    """The runs of a screen, one at a time, whose events are queued for it."""

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
            screen: The screen that receives `EventsArrived`.
            group: The worker's group.
            tick: Updates the elapsed time; called when a run begins and then periodically.
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
        """True while something runs or its last events have not been taken."""

    @property
    def is_stopped(self) -> bool:
        """True if the user has stopped the run, even if it has not ended yet."""
        return self.stopped.is_set()

    @property
    def can_stop(self) -> bool:
        """True if something is running that the user has not stopped."""
        return self.is_busy and not self.is_stopped

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def begin(self, events: Callable[[], Iterable[Event]]) -> None:
        """Start a run: call `events` in a worker thread and queue its events as they come.

        Pending events of an earlier run are dropped.
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
        """Update the elapsed time, and whether the run was stopped."""
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
        """Return the events that have arrived since the last call.

        The run is no longer busy after its last event, even if it raised an exception.
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
        """Register the function that stops the run, and call it if a stop was already requested."""
        self._stop = stop
        if self.is_stopped:
            stop()

    def stop(self) -> None:
        """Stop the run without waiting for its end."""
        self.stopped.set()
        if self._stop:
            self._stop()
