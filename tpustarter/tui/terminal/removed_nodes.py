"""Nodes that may be removed while they are mounted."""

from __future__ import annotations

from textual.events import Event, Mount, Resize
from textual.message_pump import MessagePump


class QuietWhenRemoved(MessagePump):
    """A node that handles neither `Mount` nor `Resize` while it is being removed.

    Textual (8.2.8) then mounts none of the widgets that the node composes, and sends it these
    events all the same: when Esc follows at once, or the app ends. This is no `DOMNode`, because
    a class inherits its style sheet from the first of its bases that is one.
    """

    _pruning: bool
    """True while the node is being removed."""

    async def on_event(self, event: Event) -> None:
        """Handle an event, unless it is one of these and the node is being removed."""
        is_removed = self._pruning or self._closing
        if not (is_removed and isinstance(event, Mount | Resize)):
            await super().on_event(event)
