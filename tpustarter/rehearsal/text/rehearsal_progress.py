"""The progress of a rehearsal: a total, a percentage, and an estimate of the time left.

A few checks take a hundred times as long as the others, and each comes once for every TPU. So a
task is expected to take as long as the same check took for other TPUs. The TPUs that differ most
are compiled for first (`sort_outermost_first`), and those in the middle last. Neither the oldest
nor the newest is like those in the middle for every check, so the nearest TPU on each side counts,
not the average of all. If no TPU is done with a check, the share of its programs that are done
gives the estimate.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tpustarter.rehearsal.compile.compiler import CompileProgress, CompileTaskDone, RehearsalAnswer
from tpustarter.text import bars, phrases

LEAST_DONE = 3
"""Tasks that must be done before the time left is estimated."""
LEAST_S = 4.0
"""Seconds that must pass before the time left is estimated."""
OVERDUE = 0.25
"""Further share of its time so far that an overdue task is expected to take."""
BAR = 16
"""Cells of the bar, as many as in a check run on 80 columns."""

T = TypeVar("T")
Key = tuple[str, str]
"""A task's name, and its TPU."""


@dataclass
class RehearsalProgress:
    """The number of tasks given and done, and the time that they took."""

    clock: Callable[[], float] = time.monotonic
    tpus: tuple[str, ...] = ()
    """The TPUs, from the oldest to the newest."""
    total: int = 0
    """Tasks: the programs of a check, or one of the user, each for one TPU."""
    done: int = 0
    is_total_final: bool = False
    """True if no more tasks will be added; before that, there is no estimate."""
    began: float | None = field(default=None)
    """Clock time at which the first task was given."""
    _waiting: Counter[Key] = field(default_factory=Counter[Key])
    _running: dict[Key, float] = field(default_factory=dict[Key, float])
    """Clock time at which each running task began."""
    _shares: dict[Key, float] = field(default_factory=dict[Key, float])
    """Share of each running task's programs that are done, from 0 to 1."""
    _most_running: int = 1
    _stored: set[Key] = field(default_factory=set[Key])
    """Tasks with a stored answer, whose time predicts nothing about the others."""
    _took: dict[str, dict[str, float]] = field(default_factory=dict[str, "dict[str, float]"])
    """Seconds that each check took, keyed by TPU."""

    def add_task(self, name: str, tpu: str) -> None:
        """Count a task that is still to do."""
        if self.began is None:
            self.began = self.clock()
        self.total += 1
        self._waiting[name, tpu] += 1

    def follow(self, event: object) -> None:
        """Update the counts from an event: a task that began, is done, or was stored."""
        if isinstance(event, CompileProgress):
            key = self._start((event.program, event.check or event.program), event.tpu)
            if key and event.share:
                self._shares[key] = event.share
        elif isinstance(event, CompileTaskDone):
            self.done += 1
            self._end((event.program, event.tpu))
        elif isinstance(event, RehearsalAnswer) and event.result["cached"]:
            result = event.result
            names = (result["check"] or "", result["program"])
            self._stored |= {(name, result["tpu"]) for name in names}

    def _start(self, names: tuple[str, str], tpu: str) -> Key | None:
        # The event has the name of the program or of the check; a task has one of them.
        keys = [(name, tpu) for name in names]
        waiting = [key for key in keys if self._waiting[key] > 0]
        if waiting and not any(key in self._running for key in keys):
            self._waiting[waiting[0]] -= 1
            self._running[waiting[0]] = self.clock()
            self._most_running = max(self._most_running, len(self._running))
        return next((key for key in keys if key in self._running), None)

    def _end(self, key: Key) -> None:
        began = self._running.pop(key, None)
        if began is None:
            self._waiting[key] -= 1
        elif key not in self._stored:
            self._took.setdefault(key[0], {})[key[1]] = self.clock() - began

    @property
    def percent(self) -> int:
        """Percentage of tasks done, rounded down so that 100 means all of them."""
        return 100 * self.done // self.total if self.total else 0

    @property
    def left_s(self) -> float | None:
        """Estimated seconds left, or None if there is no estimate yet."""
        if self.began is None or not self.is_total_final or self.done == self.total:
            return None
        if self.clock() - self.began < LEAST_S:
            return None
        # Another thread updates these meanwhile, so copies are iterated over.
        if sum(len(took) for took in list(self._took.values())) < LEAST_DONE:
            return None
        running = [self._left_of(key, began) for key, began in list(self._running.items())]
        waiting = sum(
            count * self._expected_s(key) for key, count in list(self._waiting.items()) if count > 0
        )
        return max((waiting + sum(running)) / self._most_running, *running, 0.0)

    def _left_of(self, key: Key, began: float) -> float:
        passed_s, share = self.clock() - began, self._shares.get(key, 0.0)
        expected_s, least_s = self._expected_s(key), OVERDUE * passed_s
        if share and passed_s >= expected_s:
            least_s = passed_s / share - passed_s
        return max(expected_s - passed_s, least_s)

    def _expected_s(self, key: Key) -> float:
        name, tpu = key
        took = [dict(several) for several in list(self._took.values())]
        usual = self._nearest_s(dict(self._took.get(name, {})), tpu)
        running = [
            (self.clock() - began, self._shares.get(key, 0.0))
            for key, began in list(self._running.items())
            if key[0] == name
        ]
        if usual is None and (projected := [passed / share for passed, share in running if share]):
            return max(projected)
        if usual is None:
            usual = statistics.fmean(seconds for several in took for seconds in several.values())
        # A running task of its kind has taken at least this long.
        return max(usual, *(passed for passed, _ in running), 0.0)

    def _nearest_s(self, took: dict[str, float], tpu: str) -> float | None:
        if not took:
            return None
        if tpu not in self.tpus or tpu in took:
            return took.get(tpu, statistics.fmean(took.values()))
        at = self.tpus.index(tpu)
        older = [took[name] for name in reversed(self.tpus[:at]) if name in took]
        newer = [took[name] for name in self.tpus[at + 1 :] if name in took]
        nearest = [*older[:1], *newer[:1]]
        return statistics.fmean(nearest or took.values())

    def text(self) -> str:
        """Return `45 %, 83 of 184, about 3 min left`, or "" if there is only one task."""
        if self.total < 2:
            return ""
        left = "" if self.left_s is None else f", {format_rounded_time(self.left_s)} left"
        return f"{self.percent} %, {self.done} of {self.total}{left}"

    def draw_bar(self, encoding: str = "utf-8", cells: int = BAR) -> str:
        """Return a progress bar in the style of a check run."""
        return bars.draw_bar(self.done / self.total if self.total else 0.0, cells, encoding)


def format_rounded_time(seconds: float) -> str:
    """Return a rounded time: `about 40 s`, `about 3 min`."""
    return f"about {phrases.format_approximate_duration(max(10 * math.ceil(seconds / 10), 10))}"


def sort_outermost_first(items: Iterable[T]) -> Iterator[T]:
    """Yield the last item, the first, the last but one, and so on to the middle.

    The compiler takes longer for newer TPUs. Once the newest and the oldest are done, a check's
    average time is close to that for those in between.
    """
    left = deque(items)
    while left:
        yield left.pop()
        if left:
            yield left.popleft()
