"""The messages that workers post to screens, and the names of the worker groups.

A worker may produce thousands of events per second. It adds them to an inbox and posts one message
for all pending events, so that the screen keeps up and is painted once per batch.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.message import Message

from tpustarter.running.device_holder import DeviceHolder

LOAD = "load"
"""Reads lessons, progress, and facts about this machine."""
SEARCH = "search"
BLOCK = "block"
CHECKS = "checks"
SETUP = "setup"
"""Plans, runs and undoes set-up steps."""
REHEARSE = "rehearse"
"""Compiles for TPUs that this machine does not have."""
TPUS = "tpus"
"""Lists Google Cloud TPUs."""
TPU_WORK = "tpu-work"
"""Creates, follows or deletes a Google Cloud TPU."""
TPU_RUN = "tpu-run"
"""Runs a command on a TPU's workers."""
TPU_CALL = "tpu-call"
"""Stops a job on the workers of a TPU, or fetches its results, while it is followed."""
SLICE = "slice"
"""Runs the checks on all hosts of a slice."""
EXPLAIN = "explain"
"""Searches a failure's log, and examines this machine."""
TYPED = "typed"
"""Saves the user's edited block code."""
RELEASE = "release"
"""Ends the lesson's process."""

Event = TypeVar("Event")
Facts = TypeVar("Facts")


class EventInbox(Generic[Event]):
    """A queue of events from a worker to a screen."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._lock = threading.Lock()

    def add_event(self, event: Event) -> bool:
        """Add an event; return whether a message must be posted for it."""
        with self._lock:
            self._events.append(event)
            return len(self._events) == 1

    def take_events(self) -> list[Event]:
        """Return the events that have arrived since the last call."""
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return events


@dataclass
class EventsArrived(Message, bubble=False):
    """Sent when events have arrived in an inbox."""

    inbox: object
    """The `EventInbox` of the screen that knows the events' type."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, EventsArrived) and message.inbox is self.inbox


@dataclass
class FactsLoaded(Message, Generic[Facts], bubble=False):
    """Facts that a worker has read or computed for its screen."""

    facts: Facts


@dataclass
class ProgressSaved(Message, bubble=False):
    """Sent when progress in a lesson's block, question or exercise has been saved."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ProgressSaved)


@dataclass
class PageLaidOut(Message):
    """Sent when a screen's layout is complete, so that keys act on visible widgets."""


@dataclass
class BackgroundColour(Message, bubble=False):
    """The terminal's reported background colour."""

    is_light: bool


@dataclass
class DeviceHeld(Message):
    """The process that holds the device, sent whenever it may have changed."""

    holder: DeviceHolder | None
