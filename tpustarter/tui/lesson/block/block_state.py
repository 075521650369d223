"""A block's state after its runs, without any drawing.

A result belongs to the code that was executed. When the user changes the code, the block counts as
not run, and undoing the change makes the result valid again.
"""

from __future__ import annotations

import re
from typing import Protocol

from tpustarter.learning.content.blocks import Block
from tpustarter.learning.progress.drafts import BlockDraft
from tpustarter.learning.progress.last_outputs import SavedOutput
from tpustarter.learning.run.block_results import BlockResult, Status
from tpustarter.learning.run.expected_output import OutputDifference

_COMPLETE: tuple[Status, ...] = ("pass", "fail", "error")
"""The statuses of runs whose output is complete."""
_EXCEPTION = re.compile(r"(\w+\.)*\w+(Error|Exception)\b")
"""The start of an expected output that shows an exception caught by the block."""


class CurrentCode(Protocol):
    """The part of `BlockCode` that a block's state depends on."""

    @property
    def text(self) -> str: ...

    @property
    def exact_code(self) -> str: ...

    @property
    def is_edited(self) -> bool: ...

    @property
    def is_outdated(self) -> bool: ...

    @property
    def waits_for_change(self) -> bool: ...

    @property
    def has_gap(self) -> bool: ...

    @property
    def is_editing(self) -> bool: ...


class EarlierResult:
    """A block's results with the lesson's code and with the user's, from earlier sessions too."""

    def __init__(
        self,
        status: str | None,
        draft: BlockDraft | None,
        draft_status: str | None,
        printed: SavedOutput | None = None,
    ) -> None:
        self.own_status = status
        """The status of the lesson's own code, or `pass` if the block has passed with any code."""
        self._printed = printed
        self._draft_status = {draft.code: draft_status} if draft else {}
        """The status of the user's code when the lesson was opened, keyed by that code."""

    @property
    def has_passed(self) -> bool:
        """True if the block has passed, in this session or an earlier one."""
        return self.own_status == "pass"

    def record_result(self, result: BlockResult, code: CurrentCode) -> None:
        """Record the result of a run.

        A pass counts for any code; a failure replaces it only if the lesson's own code has failed.
        """
        is_own = not code.is_edited and not code.waits_for_change
        if result.status == "pass" or (is_own and result.status in ("fail", "error")):
            self.own_status = result.status

    def status(self, code: CurrentCode) -> str | None:
        """Return the last status of the current code, or None if it has not run."""
        return self._draft_status.get(code.text) if code.is_edited else self.own_status

    def result(self, block: Block, code: CurrentCode) -> BlockResult | None:
        """Return the saved result of the current code, or None if its output was not saved."""
        printed, status = self._printed, self.status(code)
        ended: Status | None = next((one for one in _COMPLETE if one == status), None)
        if ended is None or printed is None or not printed.is_of(code.exact_code):
            return None
        if code.is_outdated or code.waits_for_change:  # the block shows another state
            return None
        return BlockResult(block.id, ended, output=printed.text)


class BlockState:
    """A block with the results of its runs; call `begin` and `end` for each run."""

    def __init__(
        self, block: Block, code: CurrentCode, earlier: EarlierResult, platform: str | None
    ) -> None:
        self.block = block
        self.code = code
        self.earlier = earlier
        self.platform = platform
        self.result: BlockResult | None = None
        """The result of the last completed run in this session."""
        self.kept_result = earlier.result(block, code)
        """The result and output from an earlier session, until the block runs."""
        self._executed_code = code.exact_code if self.kept_result else ""
        """The code that the result belongs to."""
        self.is_busy = False
        self.is_gone = False
        """True if the process in which the block ran has ended."""
        self.was_left = False
        """True if the user has left a task unchanged; reading on then skips it."""

    def begin(self) -> None:
        """Record that a run of the current code begins."""
        self.is_busy, self.result, self.kept_result = True, None, None
        self._executed_code, self.is_gone = self.code.exact_code, False

    def end(self, result: BlockResult) -> None:
        """Record the result of the run."""
        self.is_busy, self.result = False, result
        self.earlier.record_result(result, self.code)

    def follow(self, *, has_run: bool) -> bool:
        """Record whether the block's variables still exist; return whether this has changed."""
        was_gone, self.is_gone = self.is_gone, self._made_names and not has_run
        return self.is_gone != was_gone

    @property
    def last_result(self) -> BlockResult | None:
        """The result of the last run, in this session or an earlier one."""
        return self.result or self.kept_result

    @property
    def is_other_code(self) -> bool:
        """True if the current code is not the code that was last executed."""
        return self._executed_code != self.code.exact_code

    @property
    def is_typed_in(self) -> bool:
        """True if the user has changed the code in the open editor since the run began."""
        return self.code.is_editing and self.is_busy and self.is_other_code

    @property
    def has_passed(self) -> bool:
        """True if the block's current code has passed."""
        return self._status == "pass"

    @property
    def has_ended(self) -> bool:
        """True if the block's current code has run to completion; stopped runs do not count."""
        return self._status not in (None, "notrun")

    @property
    def has_failed(self) -> bool:
        """True if the block's current code has raised an error or failed.

        A failure does not count for a task or for edited code.
        """
        is_answer = self.block.is_try or self.code.is_edited
        return self._status == "error" or (self._status == "fail" and not is_answer)

    @property
    def _status(self) -> Status | None:
        """The status of the current code, or None if it has not run in this session."""
        return None if self.result is None or self.is_other_code else self.result.status

    @property
    def is_done(self) -> bool:
        """True if the block has passed, in this session or an earlier one."""
        return self.has_passed or self.earlier.has_passed

    @property
    def is_passable(self) -> bool:
        """True if the reader may move on: the code has run, or the task was done or skipped."""
        is_over = self.code.waits_for_change and self.is_done
        return self.has_ended or self.was_left or is_over

    @property
    def shown_difference(self) -> OutputDifference | None:
        """The difference from the expected output, if the verdict shows it."""
        is_tried = self.code.is_edited and not self.block.is_try
        return self.result.difference if self.result and not is_tried else None

    @property
    def catches_error(self) -> bool:
        """True if the block's expected output begins with an exception."""
        expected = self.block.expected_on(self.platform or "any")
        return bool(expected and _EXCEPTION.match(expected.text))

    @property
    def _made_names(self) -> bool:
        """True if its code has run, completely or until it was stopped."""
        result = self.result
        if result is None:
            return False
        was_stopped = result.reason == "interrupted" and result.seconds > 0
        return was_stopped or result.status in ("pass", "fail", "error")
