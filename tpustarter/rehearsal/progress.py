"""How far a rehearsal is: a total, a percentage, and an estimate of the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tpustarter.rehearsal.compiler import Finished

LEAST_DONE = 3
"""Tasks after which the time of the others is estimated, ..."""
LEAST_S = 4.0
"""... and seconds."""
BAR = 20
"""Cells of the bar."""
_FULL, _EMPTY = "#", "-"


@dataclass
class Progress:
    """Counts what is to compile, and what is compiled."""

    clock: Callable[[], float] = time.monotonic
    total: int = 0
    """Tasks: the programs of a check, or one of the user's, each for one TPU."""
    done: int = 0
    began: float | None = field(default=None)
    """When the first task was given."""

    def given(self) -> None:
        """Count a task that is to be done."""
        if self.began is None:
            self.began = self.clock()
        self.total += 1

    def follow(self, event: object) -> None:
        """Count a task that is done."""
        self.done += isinstance(event, Finished)

    @property
    def percent(self) -> int:
        """How much is done, from 0 to 100; 100 only where all is."""
        return 100 * self.done // self.total if self.total else 0

    @property
    def left_s(self) -> float | None:
        """Seconds that are left, judged by those that passed; None until something can be said."""
        if self.began is None or self.done < LEAST_DONE or self.done == self.total:
            return None
        passed_s = self.clock() - self.began
        if passed_s < LEAST_S:
            return None
        return passed_s / self.done * (self.total - self.done)

    def text(self) -> str:
        """Return `45 %, 83 of 184, about 3 min left`; empty where there is one thing to do."""
        if self.total < 2:
            return ""
        left = "" if self.left_s is None else f", {about(self.left_s)} left"
        return f"{self.percent} %, {self.done} of {self.total}{left}"

    def bar(self, width: int = BAR) -> str:
        """Return the bar, in characters that every terminal has."""
        full = width * self.done // self.total if self.total else 0
        return f"[{_FULL * full}{_EMPTY * (width - full)}]"


def about(seconds: float) -> str:
    """Return a time as people say it: `about 40 s`, `about 3 min`."""
    if seconds < 90:
        return f"about {max(10 * math.ceil(seconds / 10), 10)} s"
    return f"about {math.ceil(seconds / 60)} min"
