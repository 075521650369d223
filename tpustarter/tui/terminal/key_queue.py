"""Handling of keys one at a time, so that each key takes effect before the next one.

Textual passes a key through the message queues of the focused widget and its parents before its
binding acts. Keys that arrive together, e.g. over a slow connection, would overtake it: if the user
types `e` and some code, the first letters would be commands. Here each key is handled completely
before the next one. Keys also wait while a screen is being laid out, where they would act on the
wrong widget. The key that opened such a screen is then ignored, because users repeat a key that
they think was lost.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.notifications import Notification, Notify

from tpustarter.tui.kit.safe_text import plain_source

AT_ONCE = "ctrl+c"
"""The key that never waits, because it must always work."""
LIMIT_S = 0.5
"""Maximum wait for one queue, in seconds, so that a busy screen does not block keys for longer."""


class SequentialKeys(App[None], inherit_bindings=False):
    """An app that handles keys in the order in which they were typed."""

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._held: deque[events.Key | events.Paste] = deque()
        """Keys and pasted text waiting for the screen."""
        self._just_said: list[str] = []
        """The messages of the notifications that the last key has removed."""
        self._led_here = ""
        """The last key, if it opened the current screen, or ""."""

    async def on_event(self, event: events.Event) -> None:
        """Handle a key or pasted text completely."""
        if event.is_forwarded or not isinstance(event, events.Key | events.Paste):
            await super().on_event(event)
        elif isinstance(event, events.Key) and event.key == AT_ONCE:
            await self._act(event)
        elif not self._is_impatience(event):
            self._held.append(event)
            await self.on_page_laid_out()

    def _is_impatience(self, event: events.Key | events.Paste) -> bool:
        """Return whether a key was repeated before the screen that it opened was laid out."""
        is_same = isinstance(event, events.Key) and event.key == self._led_here
        was_ready = self._takes_keys and event.time >= getattr(self.screen, "ready_at", 0.0)
        return is_same and not (self._held or was_ready)

    @property
    def _takes_keys(self) -> bool:
        return getattr(self.screen, "is_ready", True)

    async def on_page_laid_out(self) -> None:
        """Handle the waiting keys as long as the current screen is ready."""
        while self._held and self._takes_keys:
            await self._act(self._held.popleft())

    def repeat_key(self, event: events.Key) -> None:
        """Handle a key again, before the keys typed after it."""
        self._held.appendleft(events.Key(event.key, event.character))

    def remove_info_toasts(self) -> None:
        """Remove informational notifications, because the next key shows that they were read."""
        said = [said for said in self._notifications if said.severity == "information"]
        self._just_said = [one.message for one in said]
        for one in said:
            self._unnotify(one)

    def confirm_or_ask(self, question: str) -> bool:
        """Return whether this key confirms the last key's question, or else ask the question.

        The question is shown for some seconds, and any other key removes it.
        """
        if question in self._just_said:
            return True
        self._on_notify(Notify(Notification(question)))  # now, because the next key may be waiting
        return False

    def remove_toasts(self, message: str, *, refresh: bool = True) -> None:
        """Remove the notifications with a message, and repaint the screen with `refresh`."""
        for one in [one for one in self._notifications if one.message == message]:
            self._unnotify(one, refresh=refresh)

    async def _act(self, event: events.Key | events.Paste) -> None:
        self.remove_info_toasts()
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
        """Run the binding of a key that does not type text; return whether there was one."""
        focused = self.focused
        if focused and focused.check_consume_key(event.key, event.character):
            return False
        by_priority = await self._check_bindings(event.key, priority=True)
        return by_priority or await self._check_bindings(event.key)

    def _queues(self) -> list[MessagePump]:
        """Return the nodes that a key passes through: the focused widget up to the screen."""
        node = self.focused or self.screen
        return [ancestor for ancestor in node.ancestors_with_self if ancestor is not self]


async def _drain(nodes: Iterable[MessagePump]) -> None:
    for node in nodes:
        done = asyncio.Event()
        if node.call_later(done.set):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(done.wait(), LIMIT_S)
