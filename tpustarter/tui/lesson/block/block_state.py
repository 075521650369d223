"""The state of a block: what its last run came to, and what follows from that; nothing is drawn.

A result belongs to the code that was executed. Once the user types something else, the block counts
as not run, and it counts again when they undo that.
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
"""The results of code whose output is complete."""
_EXCEPTION = re.compile(r"(\w+\.)*\w+(Error|Exception)\b")
"""The beginning of an expected output that shows an exception which the block catches."""


class PresentCode(Protocol):
    """The code of a block as it is now: the lesson's, or the user's."""

    @property
    def text(self) -> str:
        """The code, as an editor shows it."""
        ...

    @property
    def exact_code(self) -> str:
        """The code, as it is executed."""
        ...

    @property
    def is_edited(self) -> bool:
        """True if the user has changed the lesson's code."""
        ...

    @property
    def is_outdated(self) -> bool:
        """True if the lesson's code has changed since the user edited it."""
        ...

    @property
    def waits_for_change(self) -> bool:
        """True if the code is that of a task, and the user has not changed it yet."""
        ...

    @property
    def has_gap(self) -> bool:
        """True if the code has a gap to fill before it can run."""
        ...

    @property
    def is_editing(self) -> bool:
        """True if an editor is open."""
        ...


class EarlierResult:
    """The results of earlier sessions, with the lesson's code and with the user's."""

    def __init__(
        self,
        status: str | None,
        draft: BlockDraft | None,
        draft_status: str | None,
        printed: SavedOutput | None = None,
    ) -> None:
        self.own_status = status
        """The status of the lesson's own code, or `pass` once the block has passed."""
        self._printed = printed
        self._draft_status = {draft.code: draft_status} if draft else {}
        """The status of the user's code at the time the lesson was opened, by that code."""

    @property
    def has_passed(self) -> bool:
        """True if the block has passed, earlier or since."""
        return self.own_status == "pass"

    def record_result(self, result: BlockResult, code: PresentCode) -> None:
        """Record the result of a run, for when its code is in the block again.

        A pass stays when later edits are undone; only the lesson's own code can replace it.
        """
        is_own = not code.is_edited and not code.waits_for_change
        if result.status == "pass" or (is_own and result.status in ("fail", "error")):
            self.own_status = result.status

    def status(self, code: PresentCode) -> str | None:
        """Return the last status of the present code, or None if it has not run."""
        return self._draft_status.get(code.text) if code.is_edited else self.own_status

    def result(self, block: Block, code: PresentCode) -> BlockResult | None:
        """Return the result of the present code with its output, or None if that was not kept."""
        printed, status = self._printed, self.status(code)
        ended: Status | None = next((one for one in _COMPLETE if one == status), None)
        if ended is None or printed is None or not printed.is_of(code.exact_code):
            return None
        if code.is_outdated or code.waits_for_change:  # another state is shown
            return None
        return BlockResult(block.id, ended, output=printed.text)


class BlockState:
    """A block with the results of its runs; `begin` and `end` follow them."""

    def __init__(
        self, block: Block, code: PresentCode, earlier: EarlierResult, platform: str | None
    ) -> None:
        self.block = block
        self.code = code
        self.earlier = earlier
        self.platform = platform
        self.result: BlockResult | None = None
        """The result of the last run of this session, once it has ended."""
        self.kept_result = earlier.result(block, code)
        """The result of an earlier session, with its output, until the block runs."""
        self._executed_code = code.exact_code if self.kept_result else ""
        """The code that the result belongs to."""
        self.is_busy = False
        self.is_gone = False
        """True if the process that it ran in has ended."""
        self.was_left = False
        """True if the user has left a task unchanged: reading on then skips it."""

    def begin(self) -> None:
        """Record that the present code runs now."""
        self.is_busy, self.result, self.kept_result = True, None, None
        self._executed_code, self.is_gone = self.code.exact_code, False

    def end(self, result: BlockResult) -> None:
        """Record the result of the run."""
        self.is_busy, self.result = False, result
        self.earlier.record_result(result, self.code)

    def follow(self, *, has_run: bool) -> bool:
        """Record whether the block's variables still exist, and return whether that has changed."""
        was_gone, self.is_gone = self.is_gone, self._made_names and not has_run
        return self.is_gone != was_gone

    @property
    def last_result(self) -> BlockResult | None:
        """The result of the last run, of this session or of an earlier one."""
        return self.result or self.kept_result

    @property
    def is_other_code(self) -> bool:
        """True if the present code is not the code that was executed last."""
        return self._executed_code != self.code.exact_code

    @property
    def is_typed_in(self) -> bool:
        """True if the code in the open editor has changed since the present run began."""
        return self.code.is_editing and self.is_busy and self.is_other_code

    @property
    def has_passed(self) -> bool:
        """True if the block's present code has passed."""
        return self._status == "pass"

    @property
    def has_ended(self) -> bool:
        """True if the block's present code has run to an end; a stopped run does not count."""
        return self._status not in (None, "notrun")

    @property
    def has_failed(self) -> bool:
        """True if the block's present code broke, if it is unedited and no task."""
        is_answer = self.block.is_try or self.code.is_edited
        return self._status == "error" or (self._status == "fail" and not is_answer)

    @property
    def _status(self) -> Status | None:
        """The status of the present code, or None if it has not run in this session."""
        return None if self.result is None or self.is_other_code else self.result.status

    @property
    def is_done(self) -> bool:
        """True if the block has passed, in this session or an earlier one."""
        return self.has_passed or self.earlier.has_passed

    @property
    def is_passable(self) -> bool:
        """True if the reader may move on: the code has run, or the task is done or was skipped."""
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
        """True if its code has run, to the end or until it was stopped."""
        result = self.result
        if result is None:
            return False
        was_stopped = result.reason == "interrupted" and result.seconds > 0
        return was_stopped or result.status in ("pass", "fail", "error")
