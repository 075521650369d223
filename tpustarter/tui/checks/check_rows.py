"""The rows of the check list, in which checks that need no attention are folded.

As on the command line, several claims that hold share one row, and so do several checks that do not
apply or have not run yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from textual.content import Content

from tpustarter.checking.output import results_text
from tpustarter.checking.results.results import WORST_FIRST, Result
from tpustarter.checking.results.verdict import is_verdict_missing
from tpustarter.checking.run import known_causes
from tpustarter.core.content import Check
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.row_list import Row
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    TextColumns,
    status_word,
    style_sentence,
)

WORDS = {
    "fail": "FAIL",
    "error": "ERROR",
    "notrun": "NOT RUN",
    "warn": "WARN",
    "pass": "PASS",
    "skip": "skip",
}
PASSED, SKIPPED, WAITING, STOPPED = "passed", "skipped", "waiting", "stopped"
BLOCKED = "blocked"
"""The ids of rows that represent several checks; the id of a check always contains a dot."""
RUNNING = WORST_FIRST.index("warn"), True
"""The sort key of the running check: after those that need attention, before those that hold."""

_WORDS_OF_MANY = {
    PASSED: ("pass", "claims hold"),
    SKIPPED: ("skip", "checks don't apply here"),
    WAITING: ("wait", "checks have not run yet"),
    STOPPED: ("notrun", "checks, because the run was stopped"),
    BLOCKED: ("skip", "checks are blocked by what failed"),
}
Folds = dict[str, list[Result] | list[Check]]
"""The checks that share a row, keyed by row id: results, or checks that have not run."""


def check_sort_key(result: Result | None) -> known_causes.Rank:
    """Return a check's sort key: the worst status first, and missing verdicts first in each."""
    if result is None:
        return len(WORST_FIRST), False
    return WORST_FIRST.index(result.status), not is_verdict_missing(result)


def format_tally(results: Collection[Result], total: int) -> str:
    """Return how many checks have each status, the worst status first."""
    counts = Counter(result.status for result in results)
    parts = [
        f"{counts[status]} {WORDS[status].lower()}" for status in WORST_FIRST if counts[status]
    ]
    left = total - len(results)
    return ", ".join([*parts, f"{left} to go"] if left else parts)


def make_result_row(result: Result, name: str, *, has_room: bool) -> Row:
    """Return the row of a check that has run.

    Args:
        result: The check's result.
        name: The check's name, padded to the width of the longest name.
        has_room: Whether the screen is wide. On a narrow screen, the summary of a claim that holds
            is shown only if it fits.
    """
    seconds = f"{result.seconds:.1f} s" if result.seconds >= 0.05 else ""
    label = status_word(result.status, WORDS[result.status], 8) + name
    summary = Content(" ") + style_sentence(results_text.summarize_result(result))
    if result.status == "pass" and not has_room:
        return Row(result.id, label, seconds, whole=summary)
    return Row(result.id, label + summary, seconds, hang=label.cell_length + 1)


def guess_activity(framework: str, platform: str, *, is_warm: bool) -> str:
    """Return the probable activity of a running check that does not report one."""
    if framework == "host":
        return "looking"
    if is_warm:
        return "compiling and running"
    if platform == "tpu":
        return "starting the TPU, 5 to 15 s"
    return "starting JAX, 2 to 5 s"


def fold_checks(results: Iterable[Result], waiting: Sequence[Check]) -> Folds:
    """Return the checks that share a row, keyed by row id. Small groups are not folded."""
    passed: list[Result] = []
    skipped: list[Result] = []
    stopped: list[Result] = []
    blocked: list[Result] = []
    for result in results:
        if result.status == "pass":
            passed.append(result)
        elif result.status == "skip" and not is_verdict_missing(result):
            skipped.append(result)
        elif result.status == "skip" and result.reason == "dependency":
            blocked.append(result)
        elif result.reason == "interrupted" and not result.seconds:
            stopped.append(result)
    groups: Folds = {
        PASSED: passed,
        SKIPPED: skipped,
        WAITING: list(waiting),
        STOPPED: stopped,
        BLOCKED: blocked,
    }
    return {name: group for name, group in groups.items() if len(group) >= results_text.FOLDED_FROM}


def replace_folded(ids: Iterable[str], folds: Folds) -> list[str]:
    """Replace the first check of each fold with the fold's id, and omit the others."""
    rows = {one.id: name for name, group in folds.items() for one in group}
    return list(dict.fromkeys(rows.get(check, check) for check in ids))


def find_counterpart(chosen: str, folds: Folds) -> str | None:
    """Return the row to highlight after folding or unfolding `chosen`.

    This is the first check of a fold, or the fold of a check. None if the row does not change.
    """
    for name, group in folds.items():
        if chosen == name:
            return group[0].id
        if any(chosen == one.id for one in group):
            return name
    return None


_LISTS = ", Enter or p lists them"


def make_folded_row(name: str, group: Sequence[Result | Check], *, has_names: bool) -> Row:
    """Return the row that stands for a group of folded checks."""
    status, text_of_all = _WORDS_OF_MANY[name]
    label = status_word(status, WORDS.get(status, status), 8) + f"{len(group)} {text_of_all}"
    seconds = sum(one.seconds for one in group if isinstance(one, Result))
    names = TextColumns([escape_text(one.id) for one in group], 8)
    more = (names, HangingText("", "")) if has_names else ()
    right = f"{seconds:.1f} s" if name == PASSED else ""
    return Row(name, label, right, more, whole=Content(_LISTS))


def describe_folded_checks(
    name: str, group: Sequence[Result | Check]
) -> Iterator[LaidOutLines | Content]:
    """Yield the claims or results of folded checks."""
    yield Content.styled(f"{len(group)} {_WORDS_OF_MANY[name][1]}", "bold")
    width = max(len(one.id) for one in group) + 2
    for one in group:
        said = results_text.summarize_result(one) if isinstance(one, Result) else one.title
        yield HangingText(f"{escape_text(one.id):<{width}}", style_sentence(said))
