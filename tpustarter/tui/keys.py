"""One key after the other: what is typed fast goes where the key before it leads.

Textual hands a key on through the queues of the focused widget and its parents before its binding
acts. Keys that come together, as over a slow line, would overtake it: in `e` and some code the
first letters would be commands. Here each is finished before the next one is looked at, and all
wait for a screen that is still being laid out, where they would act on the wrong place. Only the
key that led to such a screen is not taken again: who repeats it thinks that it was not heard.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.notifications import Notification, Notify

from tpustarter.tui.plain import plain_source

AT_ONCE = "ctrl+c"
"""The key that waits for nothing: it leads out of everything."""
LIMIT_S = 0.5
"""Longest wait for one queue: a screen that is busy holds up no key for longer."""


class SequentialKeys(App[None], inherit_bindings=False):
    """An app that acts on keys in the order in which they were typed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._held: deque[events.Key | events.Paste] = deque()
        """What was typed and waits for the screen."""
        self._just_said: list[str] = []
        """What was said for a moment as the last key came."""
        self._led_here = ""
        """The key that opened the screen in front, if the last one did."""

    async def on_event(self, event: events.Event) -> None:
        """Act on a key, or on text that was pasted, to the end."""
        if event.is_forwarded or not isinstance(event, events.Key | events.Paste):
            await super().on_event(event)
        elif isinstance(event, events.Key) and event.key == AT_ONCE:
            await self._act(event)
        elif not self._is_impatience(event):
            self._held.append(event)
            await self.on_page_ready()

    def _is_impatience(self, event: events.Key | events.Paste) -> bool:
        """Return whether a key led to a screen that had not been laid out when it was pressed."""
        is_same = isinstance(event, events.Key) and event.key == self._led_here
        was_ready = self._takes_keys and event.time >= getattr(self.screen, "ready_at", 0.0)
        return is_same and not (self._held or was_ready)

    @property
    def _takes_keys(self) -> bool:
        """Whether keys act on the screen in front by now."""
        return getattr(self.screen, "is_ready", True)

    async def on_page_ready(self) -> None:
        """Act on what was typed, as long as the screen in front is ready for it."""
        while self._held and self._takes_keys:
            await self._act(self._held.popleft())

    def act_again(self, event: events.Key) -> None:
        """Act on a key once more, before all that was typed after it."""
        self._held.appendleft(events.Key(event.key, event.character))

    def forget_said(self) -> None:
        """Take away what was said for a moment: with the next key something else is looked at."""
        said = [said for said in self._notifications if said.severity == "information"]
        self._just_said = [one.message for one in said]
        for one in said:
            self._unnotify(one)

    def confirms(self, question: str) -> bool:
        """Return whether a key answers what the key before it has asked; else ask it.

        What is asked stands there for some seconds, and any other key takes it away.
        """
        if question in self._just_said:
            return True
        self._on_notify(Notify(Notification(question)))  # at once, for the next key may be here
        return False

    def withdraw(self, question: str) -> None:
        """Ask something no longer."""
        for one in [one for one in self._notifications if one.message == question]:
            self._unnotify(one)

    async def _act(self, event: events.Key | events.Paste) -> None:
        self.forget_said()
        before, queues = self.screen, self._queues()
        if isinstance(event, events.Paste):
            event.text = plain_source(event.text.replace("\r\n", "\n").replace("\r", "\n"))
            await super().on_event(event)
        elif not await self._handle_key(event):
            await super().on_event(event)
        await _drain(queues)
        await _drain(self._queues())
        is_other = self.screen is not before
        self._led_here = event.key if is_other and isinstance(event, events.Key) else ""

    async def _handle_key(self, event: events.Key) -> bool:
        """Act on a key that is bound and not typed; returns whether it was."""
        focused = self.focused
        if focused and focused.check_consume_key(event.key, event.character):
            return False
        by_priority = await self._check_bindings(event.key, priority=True)
        return by_priority or await self._check_bindings(event.key)

    def _queues(self) -> list[MessagePump]:
        """Return what a key passes on its way: the focused widget, what it is in, the screen."""
        node: Any = self.focused or self.screen
        return [ancestor for ancestor in node.ancestors_with_self if ancestor is not self]


async def _drain(nodes: Iterable[MessagePump]) -> None:
    for node in nodes:
        done = asyncio.Event()
        if node.call_later(done.set):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(done.wait(), LIMIT_S)
