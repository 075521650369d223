"""What the self-check says: the last run, a fresh one that starts nothing, and what has changed.

The fresh run is of the host checks. They read files in a process of their own, so a device that
hangs does not concern them.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any, cast

from tpustarter import locations, state
from tpustarter.checking import compare, document
from tpustarter.checking.results import KINDS, STATUSES
from tpustarter.checking.selfcheck import Request, SelfCheck
from tpustarter.learning import progress
from tpustarter.problem import Problem
from tpustarter.report.collecting import Collector, Context, Unanswered
from tpustarter.report.shapes import figure, like, one_of, rows, text
from tpustarter.terminal import visible

Fields = dict[str, Any]
FRESH_S = 30.0
_GOOD = ("healthy", "degraded")
_WORTH_TELLING = ("warn", "fail")
MOST_KEPT = 20
"""How many of the newest kept reports are looked through for a good one."""


def last_run(_: Context) -> Fields:
    """Return what the last run of `tpustarter check` came to."""
    summary = progress.last_check()
    if not summary:
        raise Unanswered("`tpustarter check` has not been run here")
    return {key: summary.get(key) for key in
            ("when", "level", "verdict", "verified_on", "headline", "counts")}  # fmt: skip


def fresh(context: Context) -> Fields:
    """Run the host checks, and return what they found; the rest of it serves the others."""
    chosen = context.interpreter
    request = Request(("host.*",), level="static", python=str(chosen.path) if chosen else None)
    try:
        check = SelfCheck(request, machine=context.machine, folder=context.folder)
    except Problem as problem:
        raise Unanswered(problem.what) from problem
    timer = threading.Timer(FRESH_S - 5, check.stop)
    timer.daemon = True
    timer.start()
    try:
        for _ in check.events():
            pass
    except Problem as problem:
        raise Unanswered(problem.what) from problem
    finally:
        timer.cancel()
    made = document.document(check.run)
    context.found["fresh"] = made
    return {
        "verdict": made["verdict"],
        "counts": made["counts"],
        "frameworks": made["target"]["frameworks"],
        "python_version": made["target"]["python_version"],
        "blocked": made["blocked"]["what"] if made["blocked"] else None,
        "findings": [
            {"check": result["id"], "status": result["status"], "code": finding["code"],
             "verdict": finding["verdict"], "what": _in_words(finding), "hint": finding["hint"]}
            for result in made["results"]
            for finding in result["findings"]
            if finding["verdict"] in _WORTH_TELLING
        ],
        "errors": [
            {"check": result["id"], "reason": result["reason"], "what": result["detail"],
             "log": result["log"]}
            for result in made["results"] if result["status"] == "error"
        ],
    }  # fmt: skip


def _in_words(finding: Fields) -> str:
    found = f"{finding['name']}: found {finding['found']}"
    unit = f" {finding['unit']}" if finding["unit"] else ""
    expected = f", expected {finding['expected']}" if finding["expected"] is not None else ""
    return f"{found}{unit}{expected}"


def changes(context: Context) -> Fields:
    """Return what differs between the last good run that was kept and this machine now."""
    now = context.found.get("fresh")
    if now is None:
        raise Unanswered("the host checks gave no result to compare with")
    before = _last_good()
    if before is None:
        raise Unanswered("no good run is kept here (`tpustarter check --save` keeps one)")
    ran = {result["id"] for result in now["results"]}
    kept = [result for result in before["results"] if result["id"] in ran]
    compared = compare.compare("the last good run", {**before, "results": kept}, now)
    # The kept run had a framework on a device, this one had none: that is no change.
    skipped = ("platform", "kind", "devices", "virtual", "level")
    target = [one for one in compared["target"] if one["name"] not in skipped]
    tells = {one["name"] for one in compared["environment"] if one["now"] == "set"}
    return {
        "since": compared["started"],
        "verdict_then": before.get("verdict"),
        "verified_on_then": before.get("verified_on"),
        "versions": compared["versions"],
        "machine": target,
        "settings": sorted(tells),
        "results": compared["results"],
    }


def _last_good() -> Fields | None:
    """Return the newest kept report whose verdict is good; null where there is none."""
    from tpustarter.checking import saved

    files = sorted(locations.state_place().glob("saved-*.json"), key=lambda one: one.stem)
    for file in files[: -MOST_KEPT - 1 : -1]:
        with contextlib.suppress(Problem):
            _, kept = saved.read(str(file))
            if kept.get("verdict") in _GOOD:
                return kept
    return None


def findings(context: Context) -> tuple[Fields, ...]:
    """Return all findings of the fresh run; none where there was none."""
    made = cast("Fields", context.found.get("fresh") or {"results": []})
    return tuple(finding for result in made["results"] for finding in result["findings"])


def has_tpu(context: Context) -> bool:
    """Return whether the fresh run saw chips."""
    made = cast("Fields", context.found.get("fresh") or {})
    return bool(made.get("host", {}).get("chips"))


def remembered_names() -> Fields:
    """Return the pseudonyms of earlier reports."""
    return state.load("report-names")


def remember_names(names: Fields) -> None:
    """Keep the pseudonyms in the state folder, for this user alone; raises Problem."""
    state.save("report-names", names)


def _counts(value: Any, cleaner: Any) -> Any:
    return {name: figure(value.get(name, 0), cleaner) for name in STATUSES}


def _versions(value: Any, cleaner: Any) -> Any:
    shape = like(r"[0-9][\w.+!-]{0,60}|unknown")
    return {
        cleaner.proved(visible(str(name))[:40]): shape(one, cleaner) for name, one in value.items()
    }


_VERDICT = one_of("healthy", "degraded", "unhealthy", "inconclusive")
_ID = like(r"[a-z_]{1,20}\.[a-z0-9_]{1,40}")
_TIME = like(r"\d{4}-\d\d-\d\dT[\d:]{5,8}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_STATUS = one_of(*STATUSES)
_NAME = like(r"[A-Za-z][A-Za-z0-9_.-]{0,60}")
_VALUE = text(1)


def _changed(value: Any, cleaner: Any) -> Any:
    rows_of = rows({"name": _NAME, "before": _VALUE, "now": _VALUE})
    return rows_of([{**one, "before": _word(one["before"]), "now": _word(one["now"])}
                    for one in value], cleaner)  # fmt: skip


def _word(value: Any) -> str:
    return "absent" if value is None else str(value)


COLLECTORS = (
    Collector("last_run", "Last run of the self-check", last_run, {
        "when": _TIME, "level": one_of("static", "quick", "full", "soak"), "verdict": _VERDICT,
        "verified_on": one_of(*KINDS), "headline": text(3), "counts": _counts,
    }),
    Collector("checks", "Host checks, run now", fresh, {
        "verdict": _VERDICT, "counts": _counts, "frameworks": _versions, "blocked": text(2),
        "python_version": like(r"[\w.+]{1,30}"),
        "findings": rows({"check": _ID, "status": _STATUS, "code": like(r"[A-Z0-9-]{2,60}"),
                          "verdict": one_of(*_WORTH_TELLING), "what": text(2), "hint": text(2)}),
        "errors": rows({"check": _ID, "reason": like(r"[a-z-]{2,20}"), "what": text(3),
                        "log": text(30)}),
    }, limit_s=FRESH_S),
    Collector("changes", "What changed since the last good run", changes, {
        "since": _TIME, "verdict_then": _VERDICT, "verified_on_then": one_of(*KINDS),
        "versions": _changed, "machine": _changed, "settings": lambda value, cleaner: [
            _NAME(one, cleaner) for one in value],
        "results": rows({"id": _ID, "change": like(r"[a-z]{2,12}"), "before": _STATUS,
                         "now": _STATUS}),
    }),
)  # fmt: skip
