"""The last line of a run of checks: how far it is, what it came to, and which key leads on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

from tpustarter.checking import bars, text
from tpustarter.checking.headline import headline
from tpustarter.checking.request import Request
from tpustarter.checking.results import Result, Run, Status
from tpustarter.terminal import visible
from tpustarter.tui.check_rows import WORST_FIRST

BAR_WIDTH = 20
TROUBLE: tuple[Status, ...] = ("fail", "error", "warn")


def opening(run: Run) -> str:
    """Return what is tested, as the command line says it, each sentence on a line of its own."""
    return re.sub(r"\n {2,}", " ", text.opening(run))


def progress(results: Collection[Result], total: int, width: int = 0) -> str:
    """Return how far a run is, as a bar and in numbers, and what went wrong so far.

    Args:
        results: What there is.
        total: How many there will be.
        width: The columns of the screen, of which a bar has a third where that is much.
    """
    done = len(results)
    filled = bars.bar(done / total if total else 0.0, max(BAR_WIDTH, width // 3))
    counts = Counter(result.status for result in results)
    wrong = "".join(f", {counts[status]} {status}" for status in TROUBLE if counts[status])
    return f"{filled}  {done} of {total} done{wrong}"


def at_the_end(run: Run, request: Request) -> str:
    """Return what a run came to, and of which checks if it was only some of those asked for."""
    if not run.results or request.ids == tuple(run.ids):
        return headline(run) if run.results else ""
    which = ", ".join(run.ids) if len(run.ids) < 4 else f"{len(run.ids)} checks"
    return f"{which} again: {headline(run)}"


def what_to_press(run: Run) -> str:
    """Say which key leads on after a run."""
    worst = min(run.results, key=lambda result: WORST_FIRST.index(result.status))
    name = visible(worst.id)
    if worst.cause:
        return f"{name} has failed because of {visible(worst.cause.check)}: press o there."
    if setup_of(worst):
        return f"Press s for a set-up that mends what {name} found, or o there for its lesson."
    if worst.status in ("fail", "error"):
        return f"Press f on {name} to see why it has failed."
    if worst.status == "warn":
        if worst.lesson:
            return f"Press o on {name} for its lesson."
    elif run.stopped_by:
        return "Press a on a line to run that again."
    return "Press Esc to go on where you were."


def what_helps(opened: Result | None) -> str:
    """Say which key leads on from the page of a check; from there Esc leads to the list."""
    if opened and setup_of(opened):
        return "Press s for a set-up that mends this, or o for its lesson."
    if opened and opened.status in ("fail", "error") and not opened.cause:
        return "Press f to see why it has failed."
    return "Press o for its lesson." if opened and opened.status == "warn" and opened.lesson else ""


def setup_of(result: Result) -> str:
    """Return the set-up that the next step after a result names first; empty for none."""
    named = re.search(r"tpustarter setup (\w[\w-]*)", text.next_step(result))
    return named[1] if named and result.status in ("fail", "warn") else ""
