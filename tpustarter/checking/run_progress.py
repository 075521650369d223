"""The progress of a run of checks, from its events: checks that have ended, and the running one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from tpustarter.checking.machine_check import PlanMade
from tpustarter.checking.results.results import Result, Status
from tpustarter.checking.run.runner import CheckEnded, CheckStarted, CheckWaiting
from tpustarter.core.content import Check

TROUBLE: tuple[Status, ...] = ("fail", "error", "warn")
"""The statuses counted while checks run."""


class RunProgress:
    """The state of each check of a run."""

    def __init__(self, checks: Iterable[Check] = ()) -> None:
        self.checks: dict[str, Check] = {check.id: check for check in checks}
        """The run's checks by id; those left out by the plan are removed once it is made."""
        self.results: dict[str, Result] = {}
        self.running: str | None = None
        """The id of the running check."""
        self.reported = ""
        """The progress reported by the running check."""
        self.platform = ""
        """The platform under test, once the plan is made."""
        self.warm: set[str] = set()
        """Frameworks of which at least one check has ended."""
        self._began = time.monotonic()

    def follow(self, event: object) -> None:
        """Update the progress from an event of the run."""
        if isinstance(event, PlanMade):
            self.platform = event.run.target.get("platform", "")
            for check in list(self.checks.values()):
                if check.framework in event.run.target.get("left_out", ()):
                    del self.checks[check.id]
        elif isinstance(event, CheckStarted):
            self.running, self.reported, self._began = event.check.id, "", time.monotonic()
            self.results.pop(event.check.id, None)
        elif isinstance(event, CheckWaiting):
            self.reported = event.progress
        elif isinstance(event, CheckEnded):
            self.results[event.result.id] = event.result
            self.warm.add(event.result.framework)
            self.running, self._began = None, time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the running check, or else the current wait, began."""
        return time.monotonic() - self._began

    @property
    def share(self) -> float:
        """The share of the checks that have ended, from 0 to 1."""
        return len(self.results) / len(self.checks) if self.checks else 0.0

    def numbers(self, unit: str = "") -> str:
        """Return the progress as numbers, such as `4 of 8, 1 fail`, with the unit after `8`."""
        counts = Counter(result.status for result in self.results.values())
        wrong = "".join(f", {counts[status]} {status}" for status in TROUBLE if counts[status])
        return f"{len(self.results)} of {len(self.checks)}{unit}{wrong}"
