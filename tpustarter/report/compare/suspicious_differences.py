"""Ranks and reasons for the differences between two reports: failures first, names last."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from tpustarter.core.json_values import JsonValue
from tpustarter.machine.frameworks import is_too_old
from tpustarter.report.clean import name_shapes
from tpustarter.report.forms.report_view import ReportView
from tpustarter.report.report_document import FRAMEWORK_SECTIONS

GROUPS = (
    "verdict",
    "hang",
    "known failure",
    "version",
    "tpu",
    "variable",
    "setting",
    "other",
    "name",
)
"""The groups of differences, the most suspicious first."""
_FRAMEWORK = f"(?:{'|'.join(FRAMEWORK_SECTIONS)})"


Reports = dict[str, ReportView]
"""Both reports, under `a` and `b`."""


class ReportDifference(msgspec.Struct):
    """A fact that differs between two reports."""

    group: str
    section: str
    fact: str
    a: JsonValue
    b: JsonValue
    why: str | None = None
    """Why it is suspicious."""


class SuspicionRule(NamedTuple):
    """A group of facts whose names match a pattern, and why a difference in one matters."""

    pattern: str
    group: str
    why: Callable[[ReportDifference, Reports], str] = lambda _, __: ""


def rate_difference(row: ReportDifference, a: ReportView, b: ReportView) -> tuple[int, int]:
    """Fill in a difference's `group` and `why`, and return its sort key.

    The key is lowest for the most suspicious difference.
    """
    name = f"{row.section}.{row.fact}"
    number, rule = next(
        (number, rule)
        for number, rule in enumerate(RULES)
        if re.fullmatch(rule.pattern, name, re.DOTALL)
    )
    row.why = rule.why(row, {"a": a, "b": b}) or None
    row.group = "name" if not row.why and _differ_only_in_names(row.a, row.b) else rule.group
    return GROUPS.index(row.group), number


def _differ_only_in_names(one: object, other: object) -> bool:
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    return name_shapes.PSEUDONYM.sub("#", one) == name_shapes.PSEUDONYM.sub("#", other)


def _find_bad_report(row: ReportDifference, bad: Callable[[object], bool] = bool) -> str:
    """Return `A` or `B` if only that one has a bad value, or else an empty string."""
    found = [key for key, value in (("A", row.a), ("B", row.b)) if bad(value)]
    return found[0] if len(found) == 1 else ""


def _explain_finding(row: ReportDifference, _: Reports) -> str:
    for word, does in (("fail", "fails"), ("warn", "warns")):
        if where := _find_bad_report(row, lambda value, word=word: str(value).startswith(word)):
            return f"This check {does} in {where} alone."
    return ""


def _explain_verdict(row: ReportDifference, _: Reports) -> str:
    where = _find_bad_report(row, lambda value: value == "unhealthy")
    return f"Host checks fail in {where} alone." if where else ""


def _explain_hang(row: ReportDifference, reports: Reports) -> str:
    where = _find_bad_report(row)
    if not where:
        return ""
    hung = reports[where.lower()].first.hung
    likely = next((one.likely for one in hung if one.framework == row.section), None)
    return f"Only {where} hangs there" + (f": {likely}." if likely else ".")


def _explain_known_failure(row: ReportDifference, reports: Reports) -> str:
    where = _find_bad_report(row, lambda value: value is not None)
    name = row.fact.removeprefix("matches.")
    known = reports[where.lower()].first.known if where else []
    source = next((one.source_page for one in known if one.id == name), "")
    return f"Only {where} shows it: {source}" if source else ""


def _explain_version(row: ReportDifference, reports: Reports) -> str:
    name = row.fact.rpartition(".")[2]
    one, other = row.a, row.b
    if one is None or other is None:
        return f"{name} is not installed in {'A' if one is None else 'B'}."
    for key, mine, its in (("a", one, other), ("b", other, one)):
        if str(its)[:1].isdigit() and is_too_old(name, str(mine), str(its)):
            stale = next((one.newest for one in reports[key].first.stale if one.name == name), "")
            return f"{key.upper()} has the older one" + (f", and {stale} is out." if stale else ".")
    return ""


def _explain_chip(row: ReportDifference, _: Reports) -> str:
    if row.a is None or row.b is None:
        return f"{'A' if row.a is None else 'B'} has no chip there."
    drivers = [str(value).partition(":")[0] for value in (row.a, row.b)]
    return "The chip has another driver." if drivers[0] != drivers[1] else ""


def _always(text: str) -> Callable[[ReportDifference, Reports], str]:
    return lambda _row, _reports: text


def _explain_reachable_chips(row: ReportDifference, reports: Reports) -> str:
    for key, value in (("a", row.a), ("b", row.b)):
        chips = reports[key].facts.tpu.chips
        if isinstance(value, int) and value < chips:
            return f"In {key.upper()}, {value} of {chips} chips can be opened."
    return ""


def _explain_holder(row: ReportDifference, _: Reports) -> str:
    where = _find_bad_report(row, lambda value: value is not None)
    return f"A process uses the TPU in {where}, and only one at a time can." if where else ""


def _explain_lock(row: ReportDifference, _: Reports) -> str:
    where = _find_bad_report(row, lambda value: value in ("live", "foreign", "unusable"))
    return f"In {where}, libtpu may not get its lock." if where else ""


def _explain_huge_pages(row: ReportDifference, _: Reports) -> str:
    where = _find_bad_report(row, lambda value: value not in ("always", None))
    return f"From v5e on, programs in {where} take longer to start." if where else ""


def _explain_oom_kills(row: ReportDifference, _: Reports) -> str:
    where = _find_bad_report(row)
    return f"In {where}, the kernel ended processes because memory ran out." if where else ""


RULES = (
    SuspicionRule(r"checks\.verdict", "verdict", _explain_verdict),
    SuspicionRule(r"checks\.findings\..*", "verdict", _explain_finding),
    SuspicionRule(r"checks\.(blocked|errors\..*)", "verdict"),
    SuspicionRule(r"last_run\.(verdict|verified_on)", "verdict"),
    SuspicionRule(rf"{_FRAMEWORK}\.hung_in", "hang", _explain_hang),
    SuspicionRule(
        rf"{_FRAMEWORK}\.(error|ended|python_stack|native_stack|not_asked_because)", "hang"
    ),
    SuspicionRule(rf"{_FRAMEWORK}\.steps\..*", "hang"),
    SuspicionRule(r"known\.matches\..*", "known failure", _explain_known_failure),
    SuspicionRule(r"python\.packages\..*", "version", _explain_version),
    SuspicionRule(
        r"metadata\.runtime_version",
        "version",
        _always("The runtime version brings the kernel, the driver and Python."),
    ),
    SuspicionRule(r"python\.(python_version|libtpu_build|libtpu_bytes)", "version"),
    SuspicionRule(rf"{_FRAMEWORK}\.(version|platform_version|kind)", "version"),
    SuspicionRule(r"tpu\.reachable_chips", "tpu", _explain_reachable_chips),
    SuspicionRule(r"tpu\.on_pci\..*", "tpu", _explain_chip),
    SuspicionRule(r"tpu\.holders\..*", "tpu", _explain_holder),
    SuspicionRule(r"tpu\.lock\.state", "tpu", _explain_lock),
    SuspicionRule(
        r"metadata\.(accelerator_type|hosts|devices_of_slice|.*bounds)",
        "tpu",
        _always("These are two kinds of TPU, or two sizes of one."),
    ),
    SuspicionRule(
        rf"(tpu|metadata)\..*|{_FRAMEWORK}\.(local|total|processes|platform|planned_platform)",
        "tpu",
    ),
    SuspicionRule(
        r"variables\.values\.(JAX_PLATFORMS|JAX_PLATFORM_NAME|PJRT_DEVICE)",
        "variable",
        _always("It decides which devices are used."),
    ),
    SuspicionRule(
        r"variables\.values\.(TPU_VISIBLE.*|TPU_.*BOUNDS)",
        "variable",
        _always("It decides which chips a process sees."),
    ),
    SuspicionRule(r"variables\..*", "variable"),
    SuspicionRule(r"resources\.oom_kills", "setting", _explain_oom_kills),
    SuspicionRule(r"resources\.huge_pages", "setting", _explain_huge_pages),
    SuspicionRule(r"limits\..*|resources\..*|changes\.settings.*", "setting"),
    SuspicionRule(r".*", "other"),
)
"""The first match wins; within a group, differences are sorted by the order of the rules."""
