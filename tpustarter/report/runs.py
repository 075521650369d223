"""What the self-check says: the last run, a fresh one that starts nothing, and what has changed.

The fresh run is of the host checks. They read files in a process of their own, so a device that
hangs does not concern them.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Mapping
from typing import Any, cast

from tpustarter import locations, state
from tpustarter.checking import compare, document
from tpustarter.checking.results import KINDS, STATUSES
from tpustarter.checking.selfcheck import Request, SelfCheck
from tpustarter.learning import progress
from tpustarter.machine import frameworks
from tpustarter.machine.generations import GENERATIONS
from tpustarter.problem import Problem
from tpustarter.report import software
from tpustarter.report.collecting import Collector, Context, Unanswered
from tpustarter.report.shapes import (
    VERSION,
    figure,
    like,
    listed,
    one_of,
    pairs,
    rows,
    text,
    version,
)

Fields = dict[str, Any]
FRESH_S = 30.0
_GOOD = ("healthy", "degraded")
_QUOTING = ("HOST-ENVIRONMENT-",)
"""Findings of these codes quote the user's variables: their names tell enough."""
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
    if str(finding["code"]).startswith(_QUOTING):
        return str(finding["name"])
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
    tells = {one["name"] for one in compared["environment"] if one["now"] == "set"}
    return {
        "since": compared["started"],
        "verdict_then": before.get("verdict"),
        "verified_on_then": before.get("verified_on"),
        "versions": _told(compared["versions"], _VERSIONS),
        "machine": _told(compared["target"], _MACHINE),
        "settings": sorted(tells & {*software.VARIABLES, *software.FLAGS, *software.NAMED_ONLY}),
        "results": compared["results"],
    }


_VERSIONS = dict.fromkeys(("tpustarter", "python", *software.PACKAGES), VERSION)
# A kept run had a framework on a device and this one had none, so no more is compared.
_MACHINE = {"chips": r"\d{1,4}", "generation": "|".join(row.name for row in GENERATIONS)}


def _told(differences: list[Fields], forms: Mapping[str, str]) -> list[Fields]:
    """Return the differences in what is known here; a value of another form is hidden."""

    def value(name: str, one: Any) -> str:
        if one is None:
            return "absent"
        return str(one) if re.fullmatch(forms[name], str(one)) else "(not told)"

    return [{"name": row["name"], "before": value(row["name"], row["before"]),
             "now": value(row["name"], row["now"])}
            for row in differences if row["name"] in forms]  # fmt: skip


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


_FRAMEWORKS = tuple(frameworks.DISTRIBUTIONS)
_VERDICT = one_of("healthy", "degraded", "unhealthy", "inconclusive")
_ID = like(r"[a-z_]{1,20}\.[a-z0-9_]{1,40}")
TIME = like(r"\d{4}-\d\d-\d\dT[\d:]{5,8}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_STATUS = one_of(*STATUSES)
_NAME = like(r"[A-Za-z][A-Za-z0-9_.-]{0,60}")
_VALUE = like(rf"absent|\(not told\)|{VERSION}|{'|'.join(_MACHINE.values())}")
_CHANGED = rows({"name": _NAME, "before": _VALUE, "now": _VALUE})


COLLECTORS = (
    Collector("last_run", "Last run of the self-check", last_run, {
        "when": TIME, "level": one_of("static", "quick", "full", "soak"), "verdict": _VERDICT,
        "verified_on": one_of(*KINDS), "headline": text(3), "counts": _counts,
    }),
    Collector("checks", "Host checks, run now", fresh, {
        "verdict": _VERDICT, "counts": _counts, "python_version": version,
        "frameworks": pairs(dict.fromkeys(_FRAMEWORKS, version)), "blocked": text(2),
        "findings": rows({"check": _ID, "status": _STATUS, "code": like(r"[A-Z0-9-]{2,60}"),
                          "verdict": one_of(*_WORTH_TELLING), "what": text(2), "hint": text(2)}),
        "errors": rows({"check": _ID, "reason": like(r"[a-z-]{2,20}"), "what": text(3),
                        "log": text(30)}),
    }, limit_s=FRESH_S),
    Collector("changes", "What changed since the last good run", changes, {
        "since": TIME, "verdict_then": _VERDICT, "verified_on_then": one_of(*KINDS),
        "versions": _CHANGED, "machine": _CHANGED, "settings": listed(_NAME),
        "results": rows({"id": _ID, "change": like(r"[a-z]{2,12}"), "before": _STATUS,
                         "now": _STATUS}),
    }),
)  # fmt: skip
