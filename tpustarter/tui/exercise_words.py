"""How far the learner is with an exercise, in words."""

from __future__ import annotations

from pathlib import Path

from textual.content import Content

from tpustarter.learning.exercises import Judged, State
from tpustarter.terminal import visible
from tpustarter.tui.lines import word

STATES = {"new": "Not begun", "begun": "Begun, not judged yet", "fail": "Not right yet",
          "pass": "Solved", "shown": "You have seen the solution"}  # fmt: skip


def verdict(judged: Judged | None, state: State) -> Content:
    """Return what the answer came to, or what is remembered of an earlier one."""
    if judged is None:
        return Content(f"{STATES[state]}. Press e to edit it here, and Ctrl+R to have it judged.")
    if judged.is_right:
        return word("pass", "RIGHT")
    status = judged.result.status
    labels = {"fail": "NOT YET", "error": "BROKEN", "skip": "skip"}
    return word(status, labels.get(status, "NOT RUN")) + f"  {visible(judged.why)}"


def short_path(path: Path | None) -> str:
    """Return a path as one types it: `~` for the home folder."""
    if path and path.is_relative_to(Path.home()):
        return f"~/{path.relative_to(Path.home())}"
    return str(path)
