"""A second search of a report's texts, for the failures that are known today.

A report does not contain the whole log, only the lines that showed a failure. A failure is
therefore kept while one of its patterns still matches them, together with the evidence from that
machine.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tpustarter.checking.results.results import FindingFields
from tpustarter.explain import failure_ranking, log_scanner, machine_evidence
from tpustarter.explain import known_failures as failures
from tpustarter.explain.log_scanner import FailureSign, FoundFailure, LogScan
from tpustarter.probe.finding import Verdict
from tpustarter.report.clean import name_shapes
from tpustarter.report.collect import frameworks
from tpustarter.report.collect import known_failures as reported_failures
from tpustarter.report.report_document import CheckFacts, KnownFailureRow, ReportFacts

_CONFIDENCES: tuple[failure_ranking.Confidence, ...] = ("possible", "likely", "confirmed")


@dataclass(frozen=True)
class _ScannedText:
    """A text of a report, with the failures that were originally found in it."""

    source: str
    lines: tuple[str, ...]
    original: Mapping[str, KnownFailureRow]
    """By the failure's current id."""
    numbers: tuple[int, ...] = ()
    """The original line numbers; empty if they count from 1."""

    def number(self, line: int) -> int:
        return self.numbers[line - 1] if self.numbers else line


def rescan_failures(facts: ReportFacts) -> dict[str, object] | None:
    """Return the current facts for the section `known`, or None if there is no text to search."""
    scanner = log_scanner.FailureScanner(failures.read_known_failures())
    findings = tuple(_make_findings(facts.checks))
    rows: list[dict[str, object]] = []
    searched: list[str] = []
    for text in _list_texts(facts):
        data = "\n".join(text.lines).encode("utf-8", "replace")
        scan = scanner.scan(io.BytesIO(data))
        searched.append(text.source)
        matches = machine_evidence.add_machine_evidence(
            _merge_matches(scan, text), machine_evidence.MachineEvidence(findings, has_tpu=None)
        )
        rows += [_make_row(one, text) for one in matches[: reported_failures.MAX_MATCHES]]
    last = {"lines": facts.known.lines, "last_error": facts.known.last_error}
    log_facts = {name: value for name, value in last.items() if value is not None}
    return {"matches": rows, "searched": searched, **log_facts} if searched else None


def find_current_id(name: str) -> str:
    """Return a known failure's current id, or the given id if it is unknown."""
    return next(
        (one.id for one in failures.read_known_failures() if name in (one.id, *one.aliases)), name
    )


def _list_texts(facts: ReportFacts) -> Iterator[_ScannedText]:
    rows = [one for one in facts.known.matches if one.id and one.quote]
    original = {
        source: {find_current_id(one.id): one for one in rows if one.source == source}
        for source in reported_failures.SOURCES
    }
    if reported_failures.FROM_LOG in facts.known.searched or original[reported_failures.FROM_LOG]:
        quoted = sorted(original[reported_failures.FROM_LOG].values(), key=_line_number)
        lines = tuple(" ".join(one.quote.split()) for one in quoted)
        yield _ScannedText(
            reported_failures.FROM_LOG,
            lines,
            original[reported_failures.FROM_LOG],
            tuple(map(_line_number, quoted)),
        )
        last = " ".join((facts.known.last_error or "").split())
        if last and last not in lines:
            yield _ScannedText(
                reported_failures.FROM_LAST_ERROR,
                (last,),
                original[reported_failures.FROM_LAST_ERROR],
            )
    texts: dict[str, list[str]] = {}
    for name in frameworks.STEPS:
        one = facts.framework(name)
        stacks = [one.python_stack, one.native_stack]
        texts[name] = [one.output, one.libtpu_log, *stacks, one.error]
    texts[reported_failures.FROM_FILES] = [one.output for one in facts.reproducers.files]
    texts[reported_failures.FROM_CHECKS] = [one.log for one in facts.checks.errors]
    for source, parts in texts.items():
        yield from _complete_text(source, filter(None, parts), original[source])


def _complete_text(
    source: str, parts: Iterable[str], original: Mapping[str, KnownFailureRow]
) -> Iterator[_ScannedText]:
    """Yield some text of the report, extended by the quotes that are missing from it."""
    text = "\n".join(parts)
    more = (one.quote for one in original.values())
    lines = [*text.split("\n"), *(one for one in more if one not in text)]
    if any(line.strip() for line in lines):
        yield _ScannedText(source, tuple(lines), original)


def _merge_matches(scan: LogScan, text: _ScannedText) -> list[failure_ranking.FailureMatch]:
    """Return today's matches, and the original ones whose signs are still there."""
    found = {
        one.failure.id: one
        for one in failure_ranking.rank_failures(scan, failures.read_known_failures())
    }
    for failure in failures.read_known_failures():
        row, signs = text.original.get(failure.id), scan.seen.get(failure.id, FoundFailure()).signs
        if row is None or signs.get("unless"):
            continue
        shown = [*signs.get("shows", ()), *signs.get("suggests", ())]
        if not shown and name_shapes.PSEUDONYM.search(row.quote):
            # The matching text may be behind a pseudonym, so nothing contradicts the match.
            shown = [FailureSign("", _line_number(row), row.quote)]
        if not shown:
            continue
        shown.sort(key=lambda sign: sign.line)
        one = found.get(failure.id) or failure_ranking.FailureMatch(
            failure, "possible", tuple(shown), row.explained_by
        )
        found[failure.id] = replace(one, confidence=_choose_confidence(one, row), here=row.here)
    return failure_ranking.sort_matches(found.values())


def _choose_confidence(
    one: failure_ranking.FailureMatch, row: KnownFailureRow
) -> failure_ranking.Confidence:
    """Return the original confidence if that machine was examined, or else the higher one."""
    place = _CONFIDENCES.index(row.confidence) if row.confidence in _CONFIDENCES else 0
    return _CONFIDENCES[place if row.here else max(place, _CONFIDENCES.index(one.confidence))]


def _make_row(one: failure_ranking.FailureMatch, text: _ScannedText) -> dict[str, object]:
    """Return a failure's row, with its original line and quote."""
    fields = reported_failures.make_known_failure_row(one, text.source)
    row = text.original.get(one.failure.id)
    line = _line_number(row) if row else text.number(one.signs[0].line)
    return fields | {"line": line, "quote": row.quote if row else one.signs[0].quote}


def _line_number(row: KnownFailureRow) -> int:
    return row.line if type(row.line) is int and row.line > 0 else 1


def _make_findings(checks: CheckFacts) -> Iterator[FindingFields]:
    for one in checks.findings:
        other: Verdict = "warn" if one.verdict == "warn" else "info"
        yield {
            "code": one.code,
            "verdict": "fail" if one.verdict == "fail" else other,
            "name": one.what,
            "hint": one.hint,
            "found": None,
            "expected": None,
            "unit": None,
            "entity": None,
            "lesson": None,
        }
