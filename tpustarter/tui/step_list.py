"""The steps of a set-up as they stand: which one runs, what it prints, how the others ended."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tpustarter.setup.run import StepEnded, StepOutput, StepStarted
from tpustarter.setup.steps import Step
from tpustarter.tui.plain import Tail

Event = StepStarted | StepOutput | StepEnded | None
"""None: the run is over."""


class StepList:
    """What is known of a run while it goes on, and after it."""

    def __init__(self) -> None:
        self.ended: dict[str, StepEnded] = {}
        self.running: str | None = None
        """The step that runs."""
        self.is_busy = self.was_stopped = False
        self._tail = Tail()
        self._began = 0.0

    def begin(self) -> None:
        """Forget the last run."""
        self.ended, self.is_busy, self.was_stopped = {}, True, False
        self._tail, self._began = Tail(), time.monotonic()

    def follow(self, event: Event) -> None:
        """Keep what has happened."""
        if isinstance(event, StepStarted):
            self.running, self._tail = event.step.id, Tail()
            self._began = time.monotonic()
        elif isinstance(event, StepOutput):
            self._tail.add(f"{event.text}\n")
        elif isinstance(event, StepEnded):
            self.ended[event.step.id] = event
            self.running = None
        else:
            self.is_busy, self.running = False, None

    @property
    def activity(self) -> str:
        """What is waited for, and for how long it has been."""
        what = "stopping" if self.was_stopped else "running, downloads may take minutes"
        return f"{what}, {time.monotonic() - self._began:.0f} s"

    @property
    def output(self) -> str:
        """The last lines of the step that runs."""
        return self._tail.text or "waiting for its first output"

    def failure(self, step: Step | None) -> StepEnded | None:
        """Return how a step has failed; None where it has not."""
        ended = self.ended.get(step.id) if step else None
        return ended if ended and ended.step.state == "failed" else None

    def to_mark(self, steps: Iterable[Step]) -> str | None:
        """Return the step that matters now: the one that runs, or that stands in the way."""
        in_the_way = (
            step.id for step in steps
            if step.id in self.ended and step.state in ("failed", "blocked")
        )  # fmt: skip
        return self.running or next(in_the_way, None)
