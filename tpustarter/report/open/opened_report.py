"""Open a report from another machine, and assess it again by today's rules.

The result is a document like that of `make_report`, so the form, the comparison and every reader of
`report.json` can use it. Its `opened` field lists the changes in the assessment, and the parts that
are not shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tpustarter.core.json_values import as_object, as_type, items_of_type
from tpustarter.core.problem import Problem
from tpustarter.report import make_report, triage
from tpustarter.report.clean import allowed_fields
from tpustarter.report.collect import check_runs, software
from tpustarter.report.forms import issue_trackers, markdown_form
from tpustarter.report.open import accepted_facts, failure_rescan, unpack
from tpustarter.report.open.accepted_facts import ForeignText
from tpustarter.report.report_document import (
    OpenedReportNotes,
    ReportDocument,
    ReportSection,
    ReportTriage,
    read_facts,
)
from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text, escape_text, wrap
from tpustarter.version import __version__

Fields = dict[str, object]
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{1,80}")


def open_report(path: Path) -> Fields:
    """Open a report and assess it again.

    Raises:
        Problem: The file is not a report.
    """
    bundle = unpack.read_bundle(path)
    try:
        given = unpack.parse_object(bundle.files[unpack.REPORT], unpack.REPORT)
        _require_report(given)
    except ValueError as error:
        is_newer = isinstance(error, _NewerReportError)
        hint = "update tpustarter, and open it again" if is_newer else unpack.HINT
        raise Problem(f"cannot open `{bundle.name}`: {error}", hint=hint) from error
    return _assess_again(given, bundle)


def render_report(document: Fields, limit: int) -> str:
    """Return an opened report for the terminal: the changed assessment, then the report."""
    opened = msgspec.convert(document["opened"], OpenedReportNotes)
    changes = opened.differs or ["Today's rules come to the judgement that it had then."]
    made = (
        f"`{opened.name}` was made by tpustarter {as_object(document['tool'])['version']} at "
        f"{format_time(document)}, and is judged again by tpustarter {opened.by}."
    )
    lines = [row for one in (" ".join((made, *changes)), *opened.notes) for row in wrap(one)]
    return "\n".join([*lines, "", markdown_form.render_markdown(document, limit=limit)])


def format_time(document: Fields) -> str:
    """Return the time at which a report was made, for display."""
    return re.sub(r"(T[\d:]{5})[\d:.]*(Z|\+00:00)$", r"\1 UTC", str(document["made"])).replace(
        "T", " ", 1
    )


class _NewerReportError(ValueError):
    """Raised for a report that a newer version has made."""


def _require_report(given: Fields) -> None:
    schema = given.get("schema")
    kind, _, major = make_report.SCHEMA.rpartition("/")
    if not isinstance(schema, str):
        raise ValueError(f"it names no schema, expected `{make_report.SCHEMA}`")
    if schema != make_report.SCHEMA:
        found = f"found `{cut_text(escape_text(schema), 40)}`"
        expected = f"expected `{make_report.SCHEMA}`"
        parts = schema.rpartition("/")
        is_number = re.fullmatch(r"[0-9]{1,9}", parts[2])
        if parts[0] == kind and is_number and int(parts[2]) > int(major):
            raise _NewerReportError(f"{found}, which a newer tpustarter made, {expected}")
        raise ValueError(f"{found}, {expected}")
    if "error" in given:
        raise ValueError("it describes an error of `tpustarter report`, and no machine")
    if not isinstance(given.get("sections"), list):
        raise ValueError("it has no `sections`")


def _assess_again(given: Fields, bundle: unpack.Bundle) -> Fields:
    raw = bundle.files[unpack.REPORT].decode("utf-8-sig")
    reader = ForeignText(raw)
    sections, left_out, unknown_sections = accepted_facts.accept_sections(given["sections"], reader)
    sections = [_rescan_failures(sections) if one.name == "known" else one for one in sections]
    unanswered = [one for one in sections if one.state != "answered"]
    original = _read_original_assessment(given.get("first"))
    asked = [one for one in unanswered if one.why != accepted_facts.NOT_COLLECTED]
    first = triage.triage_facts(read_facts(sections), asked, original.wanted if original else None)
    first.unanswered = triage.list_unanswered_sections(unanswered)
    version = as_object(given.get("tool")).get("version")
    version = _clean_value(allowed_fields.clean_version, version, reader)
    notes = [*bundle.notes, *_describe_omissions(left_out, unknown_sections)]
    differs = [*_describe_differences(original, first)]
    document = ReportDocument(
        schema=make_report.SCHEMA,
        tool={"version": version or "(unknown)"},
        made=_clean_value(check_runs.TIME, given.get("made"), reader) or "an unknown time",
        seconds=accepted_facts.parse_seconds(given.get("seconds")),
        first=first,
        sections=sections,
        replacements=accepted_facts.read_replacements(given.get("replacements")),
        left_out=[
            {"what": one.what, "why": one.why}
            for one in (
                *accepted_facts.read_omitted_fields(given.get("left_out"), reader),
                *left_out,
            )
        ],
        opened=OpenedReportNotes(bundle.name, __version__, notes, differs),
    )
    return msgspec.to_builtins(document)


def _rescan_failures(sections: Sequence[ReportSection]) -> ReportSection:
    """Rebuild the section on known failures from the texts of the other sections."""
    one = next(one for one in sections if one.name == "known")
    made = failure_rescan.rescan_failures(read_facts(sections))
    if made is None:
        why = one.why or "there is no text to search; `--log FILE` gives one"
        return replace(one, state="unanswered", facts={}, why=why)
    return replace(one, state="answered", facts=made, why=None)


def _clean_value(rule: allowed_fields.FieldRule, value: object, reader: ForeignText) -> str:
    facts, _ = allowed_fields.select_allowed({"value": value}, {"value": rule}, reader)
    return str(facts.get("value") or "")


@dataclass(frozen=True)
class _OriginalAssessment:
    """The assessment in a report, as far as it is compared."""

    stale: set[str]
    known: set[str]
    tracker: str
    wanted: str | None


def _read_original_assessment(given: object) -> _OriginalAssessment | None:
    first = as_type(given, dict[str, object])
    if first is None:
        return None
    tracker = next((one for one in issue_trackers.TRACKERS if one.id == first.get("tracker")), None)
    is_named = first.get("why_there") == triage.NAMED_BY_USER
    return _OriginalAssessment(
        {name for name in _list_values(first, "stale", "name") if name in software.PACKAGES},
        {
            failure_rescan.find_current_id(one)
            for one in _list_values(first, "known", "id")
            if _ID.fullmatch(one)
        },
        tracker.title if tracker else "",
        tracker.id if tracker and is_named else None,
    )


def _list_values(first: Fields, name: str, key: str) -> Iterator[str]:
    for row in items_of_type(first.get(name), dict[str, object], allowed_fields.MAX_ROWS):
        if isinstance(value := row.get(key), str):
            yield value


def _describe_differences(original: _OriginalAssessment | None, now: ReportTriage) -> Iterator[str]:
    """Yield the changes in the assessment: a sentence for today's, and one for the original."""
    if original is None:
        yield "The report does not say how it was judged when it was made."
        return
    stale = {one.name: one for one in now.stale}
    known = {one.id for one in now.known}
    tracker = issue_trackers.find_tracker(now.tracker).title
    today = [
        *(
            f"{name} {one.found} counts as stale, as {one.newest} is out"
            for name, one in stale.items()
            if name not in original.stale
        ),
        *(f"`{name}` is recognised" for name in sorted(known - original.known)),
        *([f"it belongs to {tracker}"] if tracker != original.tracker else []),
    ]
    before = [
        *(f"{name} counted as stale" for name in sorted(original.stale - stale.keys())),
        *(f"`{name}` was recognised" for name in sorted(original.known - known)),
        *([f"it belonged to {original.tracker}"] if original.tracker not in ("", tracker) else []),
    ]
    if today:
        yield f"New today: {', and '.join(today)}."
    if before:
        yield f"No longer so: {', and '.join(before)}."


def _describe_omissions(
    left_out: Sequence[allowed_fields.OmittedFact], unknown_sections: Sequence[str]
) -> Iterator[str]:
    if unknown_sections:
        names = phrases.join_words((f"`{name}`" for name in unknown_sections), most=3)
        yield f"This version does not know the section {names}, and does not show it."
    if unknown := sum(one.is_unknown for one in left_out):
        yield f"{_count_fields(unknown)} unknown to this version, and not shown."
    if count := len(left_out) - unknown:
        holds = phrases.choose_plural(count, "it holds", "they hold")
        fields = _count_fields(count)
        yield f"{fields} not shown, because what {holds} is nothing that a report tells."


def _count_fields(count: int) -> str:
    return phrases.format_count(count, "field is", "fields are")
