"""The status line of a run of checks: its progress, its headline, and the next key."""

from __future__ import annotations

from tpustarter.checking.output import results_text
from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.checking.results import headline, next_step
from tpustarter.checking.results.next_step import NextAction
from tpustarter.checking.results.results import Result, Run
from tpustarter.checking.run_progress import RunProgress
from tpustarter.text import bars
from tpustarter.text.terminal import escape_text

BAR_WIDTH = 20
_KEYS = {
    NextAction.READ_CAUSE: "{name} has failed because of {cause}: press o there.",
    NextAction.SET_UP: (
        "Press s for a set-up that mends what {name} found, or o there for its lesson."
    ),
    NextAction.EXPLAIN: "Press f on {name} to see why it has failed.",
    NextAction.READ: "Press o on {name} for its lesson.",
    NextAction.REPEAT: "Press a on a line to run that again.",
    NextAction.GO_ON: "Press Esc to go on where you were.",
}
"""The sentence about the next key after a run."""
_KEYS_ON_PAGE = {
    NextAction.SET_UP: "Press s for a set-up that mends this, or o for its lesson.",
    NextAction.EXPLAIN: "Press f to see why it has failed.",
    NextAction.READ: "Press o for its lesson.",
}
"""The sentence about the next key on a check's page."""


def format_run_target(run: Run) -> str:
    """Return a run's target as shown on the command line, with one sentence per line."""
    return "\n".join(line for line, _ in results_text.opening_lines(run))


def format_progress(known: RunProgress, width: int = 0) -> str:
    """Return a run's progress as a bar and in numbers, with the failures so far.

    The bar takes a third of the screen's `width`, and at least `BAR_WIDTH` columns.
    """
    filled = bars.draw_bar(known.share, max(BAR_WIDTH, width // 3))
    return f"{filled}  {known.numbers(' done')}"


def format_headline(run: Run, request: CheckRequest) -> str:
    """Return a run's headline, with the names of its checks if they are not the requested ones."""
    if not run.results or request.ids == tuple(run.ids):
        return headline.format_headline(run) if run.results else ""
    which = ", ".join(run.ids) if len(run.ids) < 4 else f"{len(run.ids)} checks"
    return f"{which} again: {headline.format_headline(run)}"


def format_next_key(run: Run) -> str:
    """Return a sentence about the next key after a run."""
    action, result = next_step.suggest_after_run(run)
    cause = escape_text(result.cause.check) if result.cause else ""
    return _KEYS[action].format(name=escape_text(result.id), cause=cause)


def format_help_key(opened: Result | None) -> str:
    """Return a sentence about the next key on a check's page, or ""."""
    if opened is None:
        return ""
    # The page names the cause itself, so a set-up comes before it.
    action = (
        NextAction.SET_UP
        if next_step.find_setup(opened)
        else next_step.suggest_after_result(opened)
    )
    return _KEYS_ON_PAGE.get(action, "")
