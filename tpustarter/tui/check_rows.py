"""Rows of the list of checks; once a run is over, what needs no attention is folded.

As on the command line many claims that hold are one row, and so are checks that do not apply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from textual.content import Content

from tpustarter.checking import bars, text
from tpustarter.checking.results import Result, Status
from tpustarter.checking.verdict import without_verdict
from tpustarter.terminal import visible
from tpustarter.tui.lines import Hanging, Lines, word
from tpustarter.tui.widgets import Row

BAR_WIDTH = 20
TROUBLE: tuple[Status, ...] = ("fail", "error", "warn")
WORST_FIRST = ("fail", "error", "notrun", "warn", "pass", "skip")
WORDS = {
    "fail": "FAIL", "error": "ERROR", "notrun": "NOT RUN", "warn": "WARN", "pass": "PASS",
    "skip": "skip",
}  # fmt: skip
PASSED, SKIPPED = "passed", "skipped"
"""Ids of the rows that stand for many; no check has such an id, for there is no dot in it."""


def rank(result: Result | None) -> tuple[int, bool]:
    """Return how far down a check stands: what should have told something comes first."""
    if result is None:
        return len(WORST_FIRST), False
    return WORST_FIRST.index(result.status), not without_verdict(result)


def progress(results: Collection[Result], total: int) -> str:
    """Return how far a run is, as a bar and in numbers, and what went wrong so far."""
    done = len(results)
    filled = bars.bar(done / total if total else 0.0, BAR_WIDTH)
    counts = Counter(result.status for result in results)
    wrong = "".join(f", {counts[status]} {status}" for status in TROUBLE if counts[status])
    return f"{filled}  {done} of {total} done{wrong}"


def ended(result: Result, name: str) -> Row:
    """Return the row of a check that has run; `name` is as wide as the others."""
    seconds = f"{result.seconds:.1f} s" if result.seconds >= 0.05 else ""
    label = word(result.status, WORDS[result.status], 8) + name
    summary = Content(f" {visible(text.summary(result))}")
    if result.status == "pass":
        return Row(result.id, label, seconds, whole=summary)
    return Row(result.id, label + summary, seconds)


def activity(framework: str, platform: str, *, is_warm: bool) -> str:
    """Return what a check that runs is most likely doing, where it does not say so itself."""
    if framework == "host":
        return "looking"
    if is_warm:
        return "compiling and running"
    if platform == "tpu":
        return "starting the TPU runtime, usually 5 to 15 s"
    return "starting JAX, usually 2 to 5 s"


def folded(results: Iterable[Result]) -> dict[str, list[Result]]:
    """Return which results are one row, by the id of that row; few are named one by one."""
    groups: dict[str, list[Result]] = {PASSED: [], SKIPPED: []}
    for result in results:
        if result.status == "pass":
            groups[PASSED].append(result)
        elif result.status == "skip" and not without_verdict(result):
            groups[SKIPPED].append(result)
    return {name: group for name, group in groups.items() if len(group) >= text.FOLDED_FROM}


def with_folds(ids: Iterable[str], folds: Mapping[str, Sequence[Result]]) -> list[str]:
    """Return ids in their order, where the first one of a fold stands that fold's own id."""
    rows = {result.id: name for name, group in folds.items() for result in group}
    return list(dict.fromkeys(rows.get(check, check) for check in ids))


def counterpart(chosen: str, folds: Mapping[str, Sequence[Result]]) -> str | None:
    """Return what is marked when it is folded or listed: the row for a check, else its first."""
    for name, group in folds.items():
        if chosen == name:
            return group[0].id
        if any(chosen == result.id for result in group):
            return name
    return None


def row(name: str, group: Sequence[Result]) -> Row:
    """Return the row that stands for many."""
    if name == SKIPPED:
        label = word("skip", WORDS["skip"], 8) + f"{len(group)} checks don't apply here"
        return Row(name, label, whole=Content(", Enter or p lists them"))
    seconds = sum(result.seconds for result in group)
    label = word("pass", WORDS["pass"], 8) + f"{len(group)} claims hold"
    return Row(name, label, f"{seconds:.1f} s", whole=Content(", Enter or p lists them"))


def details(name: str, group: Sequence[Result]) -> Iterator[Lines | Content]:
    """Yield what the many are, the claim of each or why it does not apply."""
    what = "claims hold" if name == PASSED else "checks don't apply here"
    yield Content.styled(f"{len(group)} {what}", "bold")
    width = max(len(result.id) for result in group) + 2
    for result in group:
        yield Hanging(f"{visible(result.id):<{width}}", visible(text.summary(result)))
