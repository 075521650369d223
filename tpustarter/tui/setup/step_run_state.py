"""A set-up's steps during a run: the running step with its output, and the ended steps."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tpustarter.setup.environment.steps import SetupStep
from tpustarter.setup.setup_plan import Event, StepEnded, StepOutput, StepStarted
from tpustarter.tui.kit.safe_text import OutputTail


class StepRunState:
    """The state of a run of steps, during and after it."""

    def __init__(self) -> None:
        self.ended: dict[str, StepEnded] = {}
        self.running: str | None = None
        """The id of the running step."""
        self._tail = OutputTail()
        self._began = 0.0

    def begin(self) -> None:
        """Prepare for a run, and clear the last one."""
        self.ended, self._tail, self._began = {}, OutputTail(), time.monotonic()

    def follow(self, event: Event) -> None:
        """Update the state from an event."""
        if isinstance(event, StepStarted):
            self.running, self._tail = event.step.id, OutputTail()
            self._began = time.monotonic()
        elif isinstance(event, StepOutput):
            self._tail.add(f"{event.text}\n")
        else:
            self.ended[event.step.id] = event
            self.running = None

    @property
    def seconds(self) -> float:
        """Seconds since the last step, or else the run, began."""
        return time.monotonic() - self._began

    @property
    def output(self) -> str:
        """The last output lines of the running step, or a note that there are none yet."""
        return self._tail.text or "waiting for its first output"

    def failure(self, step: SetupStep | None) -> StepEnded | None:
        """Return a step's failure, or None if it has not failed."""
        ended = self.ended.get(step.id) if step else None
        return ended if ended and ended.step.state == "failed" else None

    def find_row_to_highlight(self, steps: Iterable[SetupStep]) -> str | None:
        """Return the id of the running step, or of the first failed or blocked step, or None."""
        in_the_way = (
            step.id
            for step in steps
            if step.id in self.ended and step.state in ("failed", "blocked")
        )
        return self.running or next(in_the_way, None)
