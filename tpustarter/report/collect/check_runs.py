"""Facts from the self-check: its last run, fresh host checks, and changes since a good run.

The host checks read files in a process of their own, so a hung device does not block them.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Mapping

import msgspec

from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.checking.output import run_document
from tpustarter.checking.results import run_comparison, saved_reports
from tpustarter.checking.results.results import KINDS, STATUSES, FindingFields
from tpustarter.checking.results.run_comparison import ValueChange
from tpustarter.checking.results.saved_reports import SavedReport
from tpustarter.checking.results.verdict import judge_run
from tpustarter.core import state
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import Problem
from tpustarter.learning.progress import lesson_progress
from tpustarter.machine import frameworks
from tpustarter.machine.generations import GENERATIONS
from tpustarter.report.clean.allowed_fields import (
    VERSION,
    choice_rule,
    clean_number,
    clean_version,
    cleaned_text_rule,
    list_rule,
    mapping_rule,
    pattern_rule,
    rows_rule,
)
from tpustarter.report.clean.cleaner import Cleaner
from tpustarter.report.collect import software
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext

Fields = dict[str, object]
HOST_CHECKS_LIMIT_S = 30.0
_GOOD_VERDICTS = ("healthy", "degraded")
_VARIABLE_FINDINGS = ("HOST-ENVIRONMENT-",)
"""Prefixes of findings that quote the user's variables, so only their name is reported."""
_REPORTED_VERDICTS = ("warn", "fail")
MAX_SEARCHED_REPORTS = 20
"""Maximum number of saved reports, newest first, that are searched for a good run."""


def collect_last_run(_: ReportContext) -> Fields:
    """Return the summary of the last `tpustarter check`, of all checks or of named ones."""
    kept = [lesson_progress.read_last_check_run(), lesson_progress.read_last_named_check_run()]
    summary = max(filter(None, kept), key=lambda one: str(one.get("when")), default=None)
    if not summary:
        raise CollectorUnanswered("`tpustarter check` has not been run here")
    return {
        key: summary.get(key)
        for key in ("when", "ids", "level", "verdict", "verified_on", "headline", "counts")
        if key != "ids" or summary.get(key)
    }


def run_host_checks(context: ReportContext) -> Fields:
    """Run the host checks and return their findings, keeping the run for later collectors."""
    chosen = context.interpreter
    request = CheckRequest(("host.*",), level="static", python=str(chosen.path) if chosen else None)
    try:
        check = MachineCheck(request, machine=context.machine, folder=context.folder)
        timer = threading.Timer(HOST_CHECKS_LIMIT_S - 5, check.stop)
        timer.daemon = True
        timer.start()
        try:
            for _ in check.events():
                pass
        finally:
            timer.cancel()
    except Problem as problem:
        raise CollectorUnanswered(problem.full_text) from problem
    run = context.shared.checks = check.run
    return {
        "verdict": judge_run(run),
        "counts": run.count_statuses(),
        "frameworks": run.target.get("frameworks", {}),
        "python_version": run.target.get("python_version", ""),
        "blocked": run.blocked.what if run.blocked else None,
        "findings": [
            {
                "check": result.id,
                "status": result.status,
                "code": finding["code"],
                "verdict": finding["verdict"],
                "what": _format_finding(finding),
                "hint": finding["hint"],
            }
            for result in run.results
            for finding in result.findings
            if finding["verdict"] in _REPORTED_VERDICTS
        ],
        "errors": [
            {
                "check": result.id,
                "reason": result.reason,
                "what": result.detail,
                "log": result.log,
            }
            for result in run.results
            if result.status == "error"
        ],
    }


def _format_finding(finding: FindingFields) -> str:
    if str(finding["code"]).startswith(_VARIABLE_FINDINGS):
        return str(finding["name"])
    found = f"{finding['name']}: found {finding['found']}"
    unit = f" {finding['unit']}" if finding["unit"] else ""
    expected = f", expected {finding['expected']}" if finding["expected"] is not None else ""
    return f"{found}{unit}{expected}"


def collect_changes(context: ReportContext) -> Fields:
    """Compare the last good saved run with this machine's current state."""
    if context.shared.checks is None:
        raise CollectorUnanswered("the host checks gave no result to compare with")
    before = _find_last_good_run()
    if before is None:
        raise CollectorUnanswered("no good run is kept here (`tpustarter check --save` keeps one)")
    now = saved_reports.parse_saved_report(run_document.make_json_document(context.shared.checks))
    ran = {result.id for result in now.results}
    before.results = [result for result in before.results if result.id in ran]
    compared = run_comparison.compare_runs("the last good run", before, now)
    changed = {one.name for one in compared.environment if one.now == "set"}
    return {
        "since": compared.started,
        "verdict_then": before.verdict,
        "verified_on_then": before.verified_on,
        "versions": _format_changes(compared.versions, _VERSIONS),
        "machine": _format_changes(compared.target, _MACHINE),
        "settings": sorted(changed & {*software.VARIABLES, *software.FLAGS, *software.NAMED_ONLY}),
        "results": msgspec.to_builtins(compared.results),
    }


_VERSIONS = dict.fromkeys(("tpustarter", "python", *software.PACKAGES), VERSION)
# A saved run used a framework on a device and this one did not, so no more is compared.
_MACHINE = {"chips": r"\d{1,4}", "generation": "|".join(row.name for row in GENERATIONS)}


def _format_changes(differences: list[ValueChange], forms: Mapping[str, str]) -> list[Fields]:
    """Return the differences of known fields, hiding values that lack the expected form."""

    def value(name: str, one: object) -> str:
        if one is None:
            return "absent"
        return str(one) if re.fullmatch(forms[name], str(one)) else "(not told)"

    return [
        {
            "name": row.name,
            "before": value(row.name, row.before),
            "now": value(row.name, row.now),
        }
        for row in differences
        if row.name in forms
    ]


def _find_last_good_run() -> SavedReport | None:
    for file in saved_reports.list_reports()[: -MAX_SEARCHED_REPORTS - 1 : -1]:
        with contextlib.suppress(Problem):
            _, good = saved_reports.read_report(str(file))
            if good.verdict in _GOOD_VERDICTS:
                return good
    return None


def read_saved_pseudonyms() -> Fields:
    """Return the pseudonyms of earlier reports."""
    return state.load_state("report-names")


def save_pseudonyms(names: Mapping[str, object]) -> None:
    """Save the pseudonyms in the state folder, readable only by this user.

    Raises:
        Problem: The state folder cannot be written to.
    """
    state.save_state("report-names", {**names})


def _clean_counts(value: object, cleaner: Cleaner) -> dict[str, object]:
    counts = as_object(value)
    return {name: clean_number(counts.get(name, 0), cleaner) for name in STATUSES}


_FRAMEWORKS = tuple(frameworks.DISTRIBUTIONS)
_VERDICT = choice_rule("healthy", "degraded", "unhealthy", "inconclusive")
_ID = pattern_rule(r"[a-z_]{1,20}\.[a-z0-9_]{1,40}")
TIME = pattern_rule(r"\d{4}-\d\d-\d\dT[\d:]{5,8}(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
_STATUS = choice_rule(*STATUSES)
_NAME = pattern_rule(r"[A-Za-z][A-Za-z0-9_.-]{0,60}")
_VALUE = pattern_rule(rf"absent|\(not told\)|{VERSION}|{'|'.join(_MACHINE.values())}")
_CHANGED_VALUES = rows_rule({"name": _NAME, "before": _VALUE, "now": _VALUE})


COLLECTORS = (
    Collector(
        "last_run",
        "Last run of the self-check",
        collect_last_run,
        {
            "when": TIME,
            "ids": list_rule(pattern_rule(r"[a-z_*]{1,20}(?:\.[a-z0-9_*]{1,40})?")),
            "level": choice_rule("static", "quick", "full", "soak"),
            "verdict": _VERDICT,
            "verified_on": choice_rule(*KINDS),
            "headline": cleaned_text_rule(3),
            "counts": _clean_counts,
        },
    ),
    Collector(
        "checks",
        "Host checks, run now",
        run_host_checks,
        {
            "verdict": _VERDICT,
            "counts": _clean_counts,
            "python_version": clean_version,
            "frameworks": mapping_rule(dict.fromkeys(_FRAMEWORKS, clean_version)),
            "blocked": cleaned_text_rule(2),
            "findings": rows_rule(
                {
                    "check": _ID,
                    "status": _STATUS,
                    "code": pattern_rule(r"[A-Z0-9-]{2,60}"),
                    "verdict": choice_rule(*_REPORTED_VERDICTS),
                    "what": cleaned_text_rule(2),
                    "hint": cleaned_text_rule(2),
                }
            ),
            "errors": rows_rule(
                {
                    "check": _ID,
                    "reason": pattern_rule(r"[a-z-]{2,20}"),
                    "what": cleaned_text_rule(3),
                    "log": cleaned_text_rule(30),
                }
            ),
        },
        limit_s=HOST_CHECKS_LIMIT_S,
    ),
    Collector(
        "changes",
        "What changed since the last good run",
        collect_changes,
        {
            "since": TIME,
            "verdict_then": _VERDICT,
            "verified_on_then": choice_rule(*KINDS),
            "versions": _CHANGED_VALUES,
            "machine": _CHANGED_VALUES,
            "settings": list_rule(_NAME),
            "results": rows_rule(
                {
                    "id": _ID,
                    "change": pattern_rule(r"[a-z]{2,12}"),
                    "before": _STATUS,
                    "now": _STATUS,
                }
            ),
        },
    ),
)
