"""The differences between two reports, the most suspicious first.

The reports may be from a good and a bad host, or from one host at two times. Both are documents as
returned by `opened_report`, so every value in them is safe to show. Facts that differ between any
two reports, such as times and process ids, are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from tpustarter.core.json_values import is_array, is_object
from tpustarter.report.clean import name_shapes
from tpustarter.report.compare import suspicious_differences
from tpustarter.report.compare.suspicious_differences import ReportDifference
from tpustarter.report.forms.report_view import ReportView, format_scalar
from tpustarter.report.report_document import ReportSection
from tpustarter.version import __version__

SCHEMA = "tpustarter.bug-report-comparison/1"
"""Name of the document; its schema is `comparison.schema.json`."""
MAX_CHARACTERS = 400
"""Maximum length of one value in the comparison."""
ROW_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "findings": (("code",), ("verdict", "what")),
    "errors": (("check",), ("reason", "what")),
    "steps": (("step",), ("state",)),
    "matches": (("id",), ("confidence", "title")),
    "on_pci": (("address",), ("driver", "nodes")),
    "nodes": (("path",), ("mode", "owner", "readable", "writable")),
    "holders": (("command", "script"), ("user", "zombie")),
    "hidden": (("name",), ("version",)),
    "results": (("id",), ("before", "now")),
    "versions": (("name",), ("before", "now")),
    "machine": (("name",), ("before", "now")),
}
"""The fields that identify a row in both reports, and those that are compared, keyed by list."""
EXPECTED_DIFFERENCES = re.compile(
    r"(.*\.)?(pid|seconds|waited_s|age_s|when|since|started|available_bytes|uptime_s|lines|others|"
    r"environment_info|output|libtpu_log|no_native_stack|metrics\..*)|resources\.free.*|logs\..*|"
    r"checks\.frameworks\..*|checks\.python_version|"
    r"known\.(searched|last_error).*|last_run\.(headline|counts.*)|checks\.counts.*|"
    r"metadata\.worker|variables\.values\.(TPU_WORKER_ID|CLOUD_TPU_TASK_ID|JAX_PROCESS_ID|"
    r"MEGASCALE_SLICE_ID)"
)
"""Facts that differ between any two reports, or that follow from other facts."""
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")


class ComparedReport(msgspec.Struct):
    """One of the two reports."""

    name: str
    made: str
    version: str
    notes: list[str]


class MissingSection(msgspec.Struct):
    """A section without facts in one of the reports, or in both."""

    section: str
    title: str
    without: list[str] = msgspec.field(name="in")
    """The reports without facts: `a`, `b`."""
    why: list[str]


class ReportComparison(msgspec.Struct):
    """The comparison of two reports, as published in `comparison.schema.json`."""

    schema: str
    tool: dict[str, str]
    a: ComparedReport
    b: ComparedReport
    differences: list[ReportDifference]
    unanswered: list[MissingSection]
    compared: int
    expected: int
    pseudonyms: bool
    exit_code: int = 0


def compare_reports(first: dict[str, object], second: dict[str, object]) -> ReportComparison:
    """Return the comparison of two opened reports."""
    a, b = ReportView(first), ReportView(second)
    sections_a, sections_b = _sections(a), _sections(b)
    differences: list[ReportDifference] = []
    compared, expected = 0, 0
    for name in (one for one in sections_a if _is_answered(sections_a, one)):
        if not _is_answered(sections_b, name):
            continue
        facts_a, facts_b = (_flatten(one[name].facts) for one in (sections_a, sections_b))
        for fact in dict.fromkeys((*facts_a, *facts_b)):
            compared += 1
            one, other = facts_a.get(fact), facts_b.get(fact)
            if one == other:
                continue
            if _is_expected(f"{name}.{fact}", one, other) or _is_consequence(
                fact, facts_a, facts_b
            ):
                expected += 1
            else:
                differences.append(_make_difference(name, fact, one, other))
    differences.sort(key=lambda row: suspicious_differences.rate_difference(row, a, b))
    return ReportComparison(
        schema=SCHEMA,
        tool={"version": __version__},
        a=_make_header(a),
        b=_make_header(b),
        differences=differences,
        unanswered=list(_list_missing_sections(sections_a, sections_b)),
        compared=compared,
        expected=expected,
        pseudonyms=any(_has_pseudonym(row) for row in differences),
    )


def _make_header(view: ReportView) -> ComparedReport:
    document, opened = view.document, view.document.opened
    name, notes = (opened.name, opened.notes) if opened else ("", [])
    return ComparedReport(name, document.made, document.tool["version"], notes)


def _sections(view: ReportView) -> dict[str, ReportSection]:
    return {one.name: one for one in view.document.sections}


def _is_answered(sections: Mapping[str, ReportSection], name: str) -> bool:
    return name in sections and sections[name].state == "answered"


def _flatten(value: object, name: str = "") -> dict[str, object]:
    """Return facts by name; rows are named by their identifying fields, words by themselves."""
    if is_object(value):
        fields = value.items()
        parts = (_flatten(one, f"{name}.{part}" if name else part) for part, one in fields)
        return {key: item for part in parts for key, item in part.items()}
    if is_array(value):
        return _flatten_rows(value, name)
    return {} if value is None else {name: value}


def _flatten_rows(rows: list[object], name: str) -> dict[str, object]:
    made: dict[str, object] = {}
    keys, shown = ROW_FIELDS.get(name.rpartition(".")[2], ((), ()))
    for row in rows:
        if is_object(row):
            label = " ".join(str(row[key]) for key in keys if row.get(key)) or "row"
            values = [_format_value(row.get(key)) for key in shown or row]
            value = ": ".join((values[0], ", ".join(values[1:]))) if values[1:] else "".join(values)
        else:
            label, equals, value = str(row).partition("=")
            value = value if equals else "set"
        label = label[:80]
        number = sum(1 for one in made if one.partition(" #")[0] == f"{name}.{label}")
        made[f"{name}.{label}" + (f" #{number + 1}" if number else "")] = value
    return made


def _format_value(value: object) -> str:
    if is_array(value):
        return " ".join(map(str, value))
    return "none" if value is None else format_scalar(value)


def _is_expected(name: str, one: object, other: object) -> bool:
    if EXPECTED_DIFFERENCES.fullmatch(name):
        return True
    if not (isinstance(one, str) and isinstance(other, str)):
        return False
    is_text = "\n" in one or "\n" in other
    return is_text and _NUMBERS.sub("#", one) == _NUMBERS.sub("#", other)


def _is_consequence(fact: str, first: dict[str, object], second: dict[str, object]) -> bool:
    """Return whether a fact is missing because the framework hung or ended before reporting it."""
    return any(
        (one.get("hung_in") or one.get("unfinished_in") or one.get("ended"))
        and fact not in ("hung_in", "unfinished_in", "ended", "python_stack", "native_stack")
        and one.get(fact) in (None, "not asked")
        for one in (first, second)
    )


def _make_difference(section: str, fact: str, one: object, other: object) -> ReportDifference:
    if isinstance(one, str) and isinstance(other, str) and ("\n" in one or "\n" in other):
        one, other = _first_lines(one, other)
    return ReportDifference("", section, fact, _shorten(fact, one), _shorten(fact, other))


def _first_lines(one: str, other: str) -> tuple[str, str]:
    """Return the first pair of lines in which two texts differ in more than numbers."""
    lines, others = one.split("\n"), other.split("\n")
    for number in range(max(len(lines), len(others))):
        pair = ["".join(part[number : number + 1]) for part in (lines, others)]
        if _NUMBERS.sub("#", pair[0]) != _NUMBERS.sub("#", pair[1]):
            return f"line {number + 1}: {pair[0].strip()}", f"line {number + 1}: {pair[1].strip()}"
    return one, other


def _shorten(fact: str, value: object) -> object:
    """Return a value on one line: an error's last line, or the first two lines of another text."""
    if not isinstance(value, str):
        return value
    lines = [" ".join(line.split()) for line in value.split("\n") if line.strip()]
    text = " ".join(lines[-1:] if fact == "error" else lines[:2])
    text += " ..." if len(lines) > 2 and fact != "error" else ""
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 3]}..."


def _has_pseudonym(row: ReportDifference) -> bool:
    return any(
        isinstance(value, str) and name_shapes.PSEUDONYM.search(value) for value in (row.a, row.b)
    )


def _list_missing_sections(
    a: Mapping[str, ReportSection], b: Mapping[str, ReportSection]
) -> Iterator[MissingSection]:
    for name in dict.fromkeys((*a, *b)):
        missing = {key: one for key, one in (("a", a), ("b", b)) if not _is_answered(one, name)}
        if missing:
            why = [
                str(one[name].why) if name in one else "it was not asked"
                for one in missing.values()
            ]
            yield MissingSection(name, (a.get(name) or b[name]).title, [*missing], why)
