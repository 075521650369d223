"""Rows of the list of checks; what needs no attention is folded.

As on the command line many claims that hold are one row, and so are checks that do not apply, and
those that have not run yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from textual.content import Content

from tpustarter.checking import causes, text
from tpustarter.checking.results import Result
from tpustarter.checking.verdict import without_verdict
from tpustarter.content import Check
from tpustarter.terminal import visible
from tpustarter.tui.lines import Columns, Hanging, Lines, prose, word
from tpustarter.tui.widgets import Row

WORST_FIRST = ("fail", "error", "notrun", "warn", "pass", "skip")
WORDS = {
    "fail": "FAIL", "error": "ERROR", "notrun": "NOT RUN", "warn": "WARN", "pass": "PASS",
    "skip": "skip",
}  # fmt: skip
PASSED, SKIPPED, WAITING, STOPPED = "passed", "skipped", "waiting", "stopped"
BLOCKED = "blocked"
"""Ids of the rows that stand for many; no check has such an id, for there is no dot in it."""
RUNNING = WORST_FIRST.index("warn"), True
"""Where the check that runs stands: below what needs attention, above what holds."""

_WORDS_OF_MANY = {
    PASSED: ("pass", "claims hold"),
    SKIPPED: ("skip", "checks don't apply here"),
    WAITING: ("wait", "checks have not run yet"),
    STOPPED: ("notrun", "checks, because the run was stopped"),
    BLOCKED: ("skip", "checks are blocked by what failed"),
}
Folds = dict[str, list[Result] | list[Check]]
"""What is one row, by the id of that row: results, or checks that have not run."""


def rank(result: Result | None) -> causes.Rank:
    """Return how far down a check stands: what should have told something comes first."""
    if result is None:
        return len(WORST_FIRST), False
    return WORST_FIRST.index(result.status), not without_verdict(result)


def tally(results: Collection[Result], total: int) -> str:
    """Return how many checks came to what, the worst first."""
    counts = Counter(result.status for result in results)
    parts = [
        f"{counts[status]} {WORDS[status].lower()}" for status in WORST_FIRST if counts[status]
    ]
    left = total - len(results)
    return ", ".join([*parts, f"{left} to go"] if left else parts)


def ended(result: Result, name: str, *, has_room: bool) -> Row:
    """Return the row of a check that has run; `name` is as wide as the others.

    What it says goes on below itself; on a narrow screen a claim that holds is left out instead.
    """
    seconds = f"{result.seconds:.1f} s" if result.seconds >= 0.05 else ""
    label = word(result.status, WORDS[result.status], 8) + name
    summary = Content(" ") + prose(text.summary(result))
    if result.status == "pass" and not has_room:
        return Row(result.id, label, seconds, whole=summary)
    return Row(result.id, label + summary, seconds, hang=label.cell_length + 1)


def activity(framework: str, platform: str, *, is_warm: bool) -> str:
    """Return what a check that runs is most likely doing, where it does not say so itself."""
    if framework == "host":
        return "looking"
    if is_warm:
        return "compiling and running"
    if platform == "tpu":
        return "starting the TPU, 5 to 15 s"
    return "starting JAX, 2 to 5 s"


def folded(results: Iterable[Result], waiting: Sequence[Check]) -> Folds:
    """Return what is one row, by the id of that row; few are named one by one."""
    passed: list[Result] = []
    skipped: list[Result] = []
    stopped: list[Result] = []
    blocked: list[Result] = []
    for result in results:
        if result.status == "pass":
            passed.append(result)
        elif result.status == "skip" and not without_verdict(result):
            skipped.append(result)
        elif result.status == "skip" and result.reason == "dependency":
            blocked.append(result)
        elif result.reason == "interrupted" and not result.seconds:
            stopped.append(result)
    groups: Folds = {
        PASSED: passed, SKIPPED: skipped, WAITING: list(waiting), STOPPED: stopped,
        BLOCKED: blocked,
    }  # fmt: skip
    return {name: group for name, group in groups.items() if len(group) >= text.FOLDED_FROM}


def with_folds(ids: Iterable[str], folds: Folds) -> list[str]:
    """Return ids in their order, where the first one of a fold stands that fold's own id."""
    rows = {one.id: name for name, group in folds.items() for one in group}
    return list(dict.fromkeys(rows.get(check, check) for check in ids))


def counterpart(chosen: str, folds: Folds) -> str | None:
    """Return what is marked when it is folded or listed: the row for a check, else its first."""
    for name, group in folds.items():
        if chosen == name:
            return group[0].id
        if any(chosen == one.id for one in group):
            return name
    return None


_LISTS = ", Enter or p lists them"


def row(name: str, group: Sequence[Result | Check], *, has_names: bool) -> Row:
    """Return the row that stands for many, with their names where there is room for them."""
    status, text_of_all = _WORDS_OF_MANY[name]
    label = word(status, WORDS.get(status, status), 8) + f"{len(group)} {text_of_all}"
    seconds = sum(one.seconds for one in group if isinstance(one, Result))
    names = Columns([visible(one.id) for one in group], 8)
    more = (names, Hanging("", "")) if has_names else ()
    right = f"{seconds:.1f} s" if name == PASSED else ""
    return Row(name, label, right, more, whole=Content(_LISTS))


def details(name: str, group: Sequence[Result | Check]) -> Iterator[Lines | Content]:
    """Yield what the many are, the claim of each or why it does not apply."""
    yield Content.styled(f"{len(group)} {_WORDS_OF_MANY[name][1]}", "bold")
    width = max(len(one.id) for one in group) + 2
    for one in group:
        said = text.summary(one) if isinstance(one, Result) else one.title
        yield Hanging(f"{visible(one.id):<{width}}", prose(said))
