"""What is said of a block that has not run as it stands: how it ended earlier, or how to begin."""

from __future__ import annotations

from tpustarter.learning.block_results import BlockResult, Status
from tpustarter.learning.blocks import Block
from tpustarter.learning.drafts import Draft
from tpustarter.learning.printouts import Kept
from tpustarter.tui.block_code import BlockCode

ENDED = {
    "pass": "passed the last time", "fail": "failed the last time", "error": "broke the last time",
    "changed": "changed since you ran it",
}  # fmt: skip
_ENDED: tuple[Status, ...] = ("pass", "fail", "error")
"""How code ended that printed all that it does."""
RAN = "ran the last time"
"""Said where it printed something else, and the learner had changed what it prints."""
LACKED = f"{RAN}, without a line that the lesson prints"
"""Said in its place where the block has not passed otherwise."""


class Earlier:
    """How a block ended before its page was opened, with the lesson's code or the learner's."""

    def __init__(
        self,
        status: str | None,
        draft: Draft | None,
        draft_status: str | None,
        printed: Kept | None = None,
    ) -> None:
        self._status = status
        self._printed = printed
        self._draft_status = {draft.code: draft_status} if draft else {}
        """How what the learner had typed then ended, if that ran."""

    @property
    def has_passed(self) -> bool:
        """Whether it passed before that, or since."""
        return self._status == "pass"

    def ended(self, result: BlockResult, code: BlockCode) -> None:
        """Take how it ended now for how it ended before what is typed next.

        What passed once stays so when that is undone; only the lesson's own code can break it.
        """
        is_own = not code.is_edited and not code.waits_for_change
        if result.status == "pass" or (is_own and result.status in ("fail", "error")):
            self._status = result.status

    def status(self, code: BlockCode) -> str | None:
        """Return how some code ended, as it stands; None where it did not run."""
        return self._draft_status.get(code.text) if code.is_edited else self._status

    def result(self, block: Block, code: BlockCode) -> BlockResult | None:
        """Return how its code ended, and what it printed; None where that was not kept."""
        printed, status = self._printed, self.status(code)
        ended: Status | None = next((one for one in _ENDED if one == status), None)
        if ended is None or printed is None or not printed.is_of(code.exact):
            return None
        if code.is_outdated or code.waits_for_change:  # something else is said of it
            return None
        return BlockResult(block.id, ended, output=printed.text)

    def words(self, block: Block, code: BlockCode) -> str:
        """Return what is said of code that has not run since."""
        if not code.is_edited:
            if block.is_try and self.has_passed:
                return "done before; this is the lesson's code"
            return ENDED.get(self._status or "", _invitation(block, code))
        if code.is_outdated:
            return "your code; the lesson has changed since, and u brings its code"
        ended = self.status(code)
        if ended == "fail" and not block.is_try:
            return RAN if self.has_passed else LACKED
        return ENDED.get(ended or "", "edited, not run yet")


def _invitation(block: Block, code: BlockCode) -> str:
    """Return what is said of a block that never ran."""
    if not block.is_try:
        return "not run yet"
    if code.is_editing:
        how = "type what belongs there" if code.has_gap else "change it here"
        return f"your turn: {how}; Ctrl+R runs it"
    return "your turn: press e to change it, and Ctrl+R to run it"
