"""A run's checks with their states and rows, and the highlighted row."""

from __future__ import annotations

import time
from collections.abc import Iterable

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
"""Minimum screen width, in columns, for aligning the checks' names in a column."""
SEEN_S = 0.3
"""Seconds during which a key acts on the previous row after the program has moved the highlight."""


class CheckList(RunProgress):
    """The state of each check, during a run and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.run: Run | None = None
        """The completed run, or None during a run."""
        self.lists_all = False
        """True if folded checks are listed one by one."""

    def begin(self) -> None:
        """Prepare for a run, keeping the last run's results."""
        self._began, self.running, self.run = time.monotonic(), None, None

    def add(self, checks: Iterable[Check]) -> None:
        """Add the checks that will run."""
        self.checks |= {check.id: check for check in checks}

    def end(self, run: Run) -> None:
        """Store the completed run."""
        self.running, self.run = None, run
        self.frameworks_with_results.clear()

    @property
    def setup(self) -> str:
        """The first set-up named by a result or a blocked run, or ""."""
        first = [self.results[name] for name in self.ids() if name in self.results]
        results = [*first, *self.results.values()]  # folded checks may name a set-up as well
        hints = [next_step.choose_hint(result) for result in results]
        hints += [read_hint(finding) for result in results for finding in result.findings]
        if self.run and self.run.results and self.run.blocked:
            hints.append(Hint.of(self.run.blocked.hint))
        return next((hint.setup for hint in hints if hint.setup), "")

    def find_folds(self) -> check_rows.Folds:
        """Return the checks that share a row because they hold, do not apply or have not run."""
        if not self.checks:
            return {}
        waiting = [
            check
            for name, check in self.checks.items()
            if name not in self.results and name != self.running
        ]
        return check_rows.fold_checks(self.results.values(), [] if self.run else waiting)

    def ids(self) -> list[str]:
        """Return the row ids: the worst checks first, and the running check after those."""
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
            check: The row's id.
            width: The screen's width in columns.
            has_names: Whether to list the names of folded checks.
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
        return escape_text(self.reported) or check_rows.guess_activity(
            framework, self.platform, is_warm=framework in self.frameworks_with_results
        )


class CheckHighlight:
    """The highlighted row, which follows the run until the user moves it, and the previous row."""

    def __init__(self) -> None:
        self._highlighted: str | None = None
        """The row highlighted by the program."""
        self._left, self._left_at = "", 0.0
        """The previously highlighted row, and the time at which the highlight left it."""

    def is_following(self, chosen: str | None) -> bool:
        """Return whether the highlight follows the run, because the user has not moved it."""
        return chosen in (None, self._highlighted)

    def record_row(self, chosen: str | None) -> None:
        """Record the row that the program has highlighted."""
        if chosen != self._highlighted:
            self._left, self._left_at = self._highlighted or "", time.monotonic()
            self._highlighted = chosen

    @property
    def seen_row(self) -> str:
        """The row that was highlighted less than `SEEN_S` seconds ago, or ""."""
        return self._left if time.monotonic() - self._left_at < SEEN_S else ""
