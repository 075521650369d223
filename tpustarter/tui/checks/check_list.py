"""The checks of a run with their states, their rows on the screen, and the row that is marked."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from textual.content import Content

from tpustarter.checking.results import next_step
from tpustarter.checking.results.results import Run, read_hint
from tpustarter.checking.run import known_causes
from tpustarter.checking.run_progress import RunProgress
from tpustarter.core.content import Check
from tpustarter.probe.finding import Hint
from tpustarter.text.terminal import escape_text
from tpustarter.tui.checks import check_rows
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import status_word

NARROW = 70
"""Columns below which the names of checks don't have a column of their own."""
SEEN_S = 0.3
"""Seconds after the mark has moved during which a key acts on the row that was marked before."""


class CheckList(RunProgress):
    """The state of each check, during a run and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.run: Run | None = None
        """The run that is over; None during a run."""
        self.lists_all = False
        """True if folded checks are listed one by one."""

    def begin(self) -> None:
        """Prepare for a run, and keep the results of the last run."""
        self._began, self.running, self.run = time.monotonic(), None, None

    def add(self, checks: Iterable[Check]) -> None:
        """Add the checks that are to run."""
        self.checks |= {check.id: check for check in checks}

    def end(self, run: Run) -> None:
        """Keep the finished run, and mark no check as running."""
        self.running, self.run = None, run
        self.warm.clear()

    @property
    def setup(self) -> str:
        """The first set-up that a result or a blocked run names, or "" without one."""
        first = [self.results[name] for name in self.ids() if name in self.results]
        results = [*first, *self.results.values()]  # a folded check may name a set-up too
        hints = [next_step.choose_hint(result) for result in results]
        hints += [read_hint(finding) for result in results for finding in result.findings]
        if self.run and self.run.results and self.run.blocked:
            hints.append(Hint.of(self.run.blocked.hint))
        return next((hint.setup for hint in hints if hint.setup), "")

    def find_folds(self) -> check_rows.Folds:
        """Return the checks that share a row: those that hold, don't apply or have not run."""
        if not self.checks:
            return {}
        waiting = [
            check
            for name, check in self.checks.items()
            if name not in self.results and name != self.running
        ]
        return check_rows.fold_checks(self.results.values(), [] if self.run else waiting)

    def ids(self) -> list[str]:
        """Return the ids of the rows in order: worst first, then the running check, then others."""
        if self.lists_all and not self.run:
            return list(self.checks)
        raised = known_causes.rank_causes(self.results.values(), check_rows.check_sort_key)
        ids = sorted(
            self.checks, key=lambda one: known_causes.make_sort_key(one, self._rank(one), raised)
        )
        return ids if self.lists_all else check_rows.replace_folded(ids, self.find_folds())

    def _rank(self, check: str) -> known_causes.Rank:
        if check == self.running:
            return check_rows.RUNNING
        return check_rows.check_sort_key(self.results.get(check))

    def row(self, check: str, width: int, *, has_names: bool = False) -> Row:
        """Return the row of a check or a fold.

        Args:
            check: The id of the row.
            width: The columns of the screen.
            has_names: Whether there is room for the names of folded checks.
        """
        if group := self.find_folds().get(check):
            return check_rows.make_folded_row(check, group, has_names=has_names)
        longest = max(len(name) for name in self.checks) + 1 if width >= NARROW else 0
        name = f"{escape_text(check):<{longest}}"
        if result := self.results.get(check):
            return check_rows.make_result_row(result, name, has_room=width >= NARROW)
        if check == self.running:
            label = status_word("run", "RUN", 8) + f"{name} {self._activity(check)}"
            return Row(check, label, f"{self.seconds:.0f} s")
        state = "not run" if self.run else "wait"
        claim = f" {escape_text(self.checks[check].title)}" if width >= NARROW else ""
        label = status_word("wait", state, 8) + Content.styled(f"{name}{claim}", "$muted")
        return Row(check, label, hang=8 + len(name) + 1)

    def _activity(self, check: str) -> str:
        framework = self.checks[check].framework
        is_warm = framework in self.warm
        return escape_text(self.reported) or check_rows.guess_activity(
            framework, self.platform, is_warm=is_warm
        )


class MarkedCheck:
    """The marked row, which follows the run until the user moves it, and the one a moment ago."""

    def __init__(self) -> None:
        self._marked: str | None = None
        """The row that was marked by the program."""
        self._left, self._left_at = "", 0.0
        """The row marked before that, and the time at which it was left."""

    def is_following(self, chosen: str | None) -> bool:
        """Return whether the mark follows the run, until the user moves it."""
        return chosen in (None, self._marked)

    def find_row(self, known: CheckList, ids: Sequence[str]) -> str | None:
        """Return the row to mark: the check that runs, and after the run the first one."""
        return ids[0] if known.run and ids else known.running

    def record_row(self, chosen: str | None) -> None:
        """Record the row that is marked now."""
        if chosen != self._marked:
            self._left, self._left_at = self._marked or "", time.monotonic()
            self._marked = chosen

    @property
    def seen_row(self) -> str:
        """The row that was marked until a moment ago, or an empty text."""
        return self._left if time.monotonic() - self._left_at < SEEN_S else ""
