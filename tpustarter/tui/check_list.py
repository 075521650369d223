"""The checks of a run as they stand: which have ended, which runs, and the rows that say so."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from textual.content import Content

from tpustarter.checking import causes
from tpustarter.checking.headline import headline
from tpustarter.checking.results import Result, Run
from tpustarter.checking.runner import Ended, Started, Waiting
from tpustarter.checking.selfcheck import Began
from tpustarter.content import Check
from tpustarter.terminal import visible
from tpustarter.tui import check_rows
from tpustarter.tui.lines import word
from tpustarter.tui.widgets import Row

NARROW = 70
"""Columns below which the names of checks don't stand in a column of their own."""


class CheckList:
    """What is known of each check while a run goes on, and after it."""

    def __init__(self) -> None:
        self.checks: dict[str, Check] = {}
        self.results: dict[str, Result] = {}
        self.run: Run | None = None
        """The run that is over; None while one goes on."""
        self.running: str | None = None
        """The check that runs."""
        self.platform = ""
        """What the run found to test."""
        self.lists_all = False
        """Whether what is folded is listed all the same."""
        self._began = 0.0
        self._progress = ""
        """How far the check that runs says it has come."""
        self._warm: set[str] = set()
        """Frameworks whose process has answered."""

    def begin(self) -> None:
        """Forget the last run, and keep what it found."""
        self._began, self.running, self.run = time.monotonic(), None, None

    def add(self, checks: Iterable[Check]) -> None:
        """Take the checks that are to run."""
        self.checks |= {check.id: check for check in checks}

    def follow(self, event: object) -> None:
        """Keep what has happened."""
        if isinstance(event, Began):
            target: dict[str, Any] = event.run.target
            self.platform, left_out = str(target.get("platform", "")), target.get("left_out", ())
            self.checks = {
                name: check
                for name, check in self.checks.items()
                if check.framework not in left_out
            }
        elif isinstance(event, Started):
            self.running, self._progress = event.check.id, ""
            self._began = time.monotonic()
            self.results.pop(event.check.id, None)
        elif isinstance(event, Waiting):
            self._progress = event.progress
        elif isinstance(event, Ended):
            self.results[event.result.id] = event.result
            self._warm.add(event.result.framework)
            self.running, self._began = None, time.monotonic()

    def end(self, run: Run) -> None:
        """Keep the run that is over."""
        self.running, self.run = None, run
        self._warm.clear()

    @property
    def asks_for_setup(self) -> bool:
        """Whether a result, or what the run came to, names set-up as what helps."""
        run = self.run
        hints = [finding["hint"] for result in self.results.values() for finding in result.findings]
        if run and run.results:
            hints += [headline(run), run.blocked.hint if run.blocked else ""]
        return any("tpustarter setup" in str(hint) for hint in hints)

    @property
    def seconds(self) -> float:
        """How long the check that runs has taken, or what is waited for."""
        return time.monotonic() - self._began

    def folds(self) -> check_rows.Folds:
        """Return what is one row: claims that hold, checks that don't apply or have not run."""
        if not self.checks:
            return {}
        waiting = [
            check
            for name, check in self.checks.items()
            if name not in self.results and name != self.running
        ]
        return check_rows.folded(self.results.values(), [] if self.run else waiting)

    def ids(self) -> list[str]:
        """Return the rows in their order: what needs attention, what runs, and the rest."""
        if self.lists_all and not self.run:
            return list(self.checks)
        raised = causes.raised(self.results.values(), check_rows.rank)
        ids = sorted(self.checks, key=lambda one: causes.place(one, self._rank(one), raised))
        return ids if self.lists_all else check_rows.with_folds(ids, self.folds())

    def _rank(self, check: str) -> causes.Rank:
        if check == self.running:
            return check_rows.RUNNING
        return check_rows.rank(self.results.get(check))

    def row(self, check: str, width: int, *, has_names: bool = False) -> Row:
        """Return a row for a list on a screen of so many columns.

        Args:
            check: The check, or what stands for many.
            width: The columns.
            has_names: Whether there is room for the names of the many.
        """
        if group := self.folds().get(check):
            return check_rows.row(check, group, has_names=has_names)
        longest = max(len(name) for name in self.checks) + 1 if width >= NARROW else 0
        name = f"{visible(check):<{longest}}"
        if result := self.results.get(check):
            return check_rows.ended(result, name, has_room=width >= NARROW)
        if check == self.running:
            label = word("run", "RUN", 8) + f"{name} {self._activity(check)}"
            return Row(check, label, f"{self.seconds:.0f} s")
        state = "not run" if self.run else "wait"
        claim = f" {visible(self.checks[check].title)}" if width >= NARROW else ""
        label = word("wait", state, 8) + Content.styled(f"{name}{claim}", "$muted")
        return Row(check, label, hang=8 + len(name) + 1)

    def _activity(self, check: str) -> str:
        framework = self.checks[check].framework
        is_warm = framework in self._warm
        return visible(self._progress) or check_rows.activity(
            framework, self.platform, is_warm=is_warm
        )
