"""What workers tell screens: the messages, and the names of the groups workers run in.

A worker may see thousands of events a second. It puts them into an inbox and posts one message
for all that wait there, so that the screen is never behind and paints once per batch.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

LOOK = "look"
"""Reads facts about this machine, lessons and progress."""
SEARCH = "search"
"""Searches lessons."""
BLOCK = "block"
"""Runs a block of a lesson."""
CHECKS = "checks"
"""Runs checks."""
SETUP = "setup"
"""Plans, runs and undoes set-up steps."""
REHEARSE = "rehearse"
"""Compiles for TPUs that are not there."""
TPUS = "tpus"
"""Asks Google Cloud what TPUs exist."""
TPU_WORK = "tpu-work"
"""Creates, follows or deletes a TPU of Google Cloud."""
TPU_RUN = "tpu-run"
"""Runs a command on the workers of a TPU."""
EXPLAIN = "explain"
"""Searches what a failure wrote, and looks at this machine."""
TYPED = "typed"
"""Writes what was typed into blocks to the disk."""
RELEASE = "release"
"""Ends the lesson's process."""

Event = TypeVar("Event")


class Inbox(Generic[Event]):
    """Events on their way from a worker to a screen, in order."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._lock = threading.Lock()

    def put(self, event: Event) -> bool:
        """Add an event; returns whether a message must be posted for it."""
        with self._lock:
            self._events.append(event)
            return len(self._events) == 1

    def take(self) -> list[Event]:
        """Return what has arrived since the last call."""
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return events


@dataclass
class Arrived(Message, bubble=False):
    """Events wait in an inbox."""

    inbox: Inbox[Any]

    def can_replace(self, message: Message) -> bool:
        """Return whether one message does for both."""
        return isinstance(message, Arrived) and message.inbox is self.inbox


@dataclass
class Looked(Message, bubble=False):
    """Something was read in the background; what it is depends on the screen."""

    what: Any


@dataclass
class Remembered(Message, bubble=False):
    """Something of the lesson was remembered: a block, an answer, an exercise."""

    def can_replace(self, message: Message) -> bool:
        """Return whether one message does for both."""
        return isinstance(message, Remembered)


@dataclass
class PageReady(Message):
    """A screen is laid out, and keys act on what is seen."""


@dataclass
class Ground(Message, bubble=False):
    """The terminal said what colour its ground has."""

    is_light: bool


@dataclass
class Holding(Message):
    """The lesson's process started, or ended: who holds the device now."""

    holder: str | None


def feed(screen: MessagePump, inbox: Inbox[Event], events: Iterable[Event]) -> None:
    """Pass events on to a screen as they come; called in a worker."""
    for event in events:
        if inbox.put(event):
            screen.post_message(Arrived(inbox))
