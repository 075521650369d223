"""The events of a started run so far, by host."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.slices.fake_slice_probe import events
from tpustarter.slices.starting.launch_request import (
    EndReason,
    HostEnded,
    HostLine,
    HostStage,
    StartEvent,
)
from tpustarter.slices.starting.running_commands import RunningCommands


class Seen:
    """The output lines and the ends of a run so far, by host."""

    def __init__(self, run: RunningCommands) -> None:
        self._events = run.events()
        self.lines: dict[int | None, list[str]] = {}
        self.ended: dict[int | None, HostEnded] = {}

    def until(self, fact: Callable[[], object]) -> None:
        """Read until a fact holds, or the end."""
        while not fact():
            if (event := next(self._events, "the end")) == "the end":
                pytest.fail(f"all have ended: {[*self.ended.values()]}")
            self._add(event)

    def _add(self, event: StartEvent | str | None) -> None:
        if isinstance(event, HostLine):
            self.lines.setdefault(event.host, []).append(event.text)
        elif isinstance(event, HostEnded):
            self.ended[event.host] = event

    def close(self) -> None:
        """Read no further."""
        self._events.close()

    def all(self) -> Seen:
        """Read to the end."""
        for event in self._events:
            self._add(event)
        return self

    def running(self, *numbers: int) -> None:
        """Read until some hosts have sent an event."""
        self.until(lambda: all(events(self.lines.get(number, [])) for number in numbers))

    def whys(self) -> dict[int | None, str]:
        """Return the reason why the probe has ended, by host."""
        return {
            host: event["why"]
            for host, lines in self.lines.items()
            for event in events(lines)
            if event["event"] == "end"
        }


def ending(one: HostEnded) -> tuple[HostStage, EndReason, int | None]:
    """Return the part of an end that is compared."""
    return one.stage, one.ending, one.code
