"""The messages that workers post to screens, and the names of the worker groups.

A worker may see thousands of events a second. It puts them into an inbox and posts one message
for all events that wait there, so that the screen keeps up and paints once per batch.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual.message import Message

from tpustarter.running.device_holder import DeviceHolder

LOOK = "look"
"""Reads facts about this machine, lessons and progress."""
SEARCH = "search"
BLOCK = "block"
CHECKS = "checks"
SETUP = "setup"
"""Plans, runs and undoes set-up steps."""
REHEARSE = "rehearse"
"""Compiles for TPUs that are not there."""
TPUS = "tpus"
"""Lists the TPUs of Google Cloud."""
TPU_WORK = "tpu-work"
"""Creates, follows or deletes a TPU of Google Cloud."""
TPU_RUN = "tpu-run"
"""Runs a command on the workers of a TPU."""
TPU_CALL = "tpu-call"
"""Stops a job on the workers of a TPU, or fetches its results, while it is followed."""
SLICE = "slice"
"""Runs the checks on all hosts of a slice."""
EXPLAIN = "explain"
"""Searches the log of a failure, and looks at this machine."""
TYPED = "typed"
"""Saves the code that the user typed into blocks."""
RELEASE = "release"
"""Ends the lesson's process."""

Event = TypeVar("Event")
Facts = TypeVar("Facts")


class EventInbox(Generic[Event]):
    """Events on their way from a worker to a screen, in order."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._lock = threading.Lock()

    def add_event(self, event: Event) -> bool:
        """Add an event, and return whether a message must be posted for it."""
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
    """Notice that events wait in an inbox."""

    inbox: EventInbox[Any]

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, EventsArrived) and message.inbox is self.inbox


@dataclass
class FactsLoaded(Message, Generic[Facts], bubble=False):
    """Facts that a worker has read or computed for its screen, which knows their type."""

    facts: Facts


@dataclass
class ProgressSaved(Message, bubble=False):
    """Notice that a block, an answer or an exercise of the lesson was saved."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, ProgressSaved)


@dataclass
class PageReady(Message):
    """Sent when a screen is laid out, so that keys act on visible widgets."""


@dataclass
class BackgroundColour(Message, bubble=False):
    """The terminal's answer about its background colour."""

    is_light: bool


@dataclass
class DeviceHeld(Message):
    """The process that holds the device now, after the lesson's process started or ended."""

    holder: DeviceHolder | None
