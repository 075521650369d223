"""A second search of a report's texts, for the failures that are known today.

A report doesn't contain the whole log, only the lines that showed a failure. So a failure is kept
while one of its patterns still matches them, together with the evidence of that machine.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tpustarter.explain import known_failures as failures
from tpustarter.explain import log_scanner, machine_evidence, ranking
from tpustarter.explain.log_scanner import FailureSign, LogScan, SeenFailure
from tpustarter.report.clean import name_shapes
from tpustarter.report.collect import frameworks
from tpustarter.report.collect import known_failures as reported_failures

Fields = dict[str, Any]
_SURENESS = ("possible", "likely", "confirmed")


@dataclass(frozen=True)
class _ScannedText:
    """A text of a report, with the failures that were found in it then."""

    source: str
    lines: tuple[str, ...]
    then: Mapping[str, Fields]
    """By the id that the failure has today."""
    numbers: tuple[int, ...] = ()
    """The original numbers of the lines; empty where they count from 1."""

    def number(self, line: int) -> int:
        return self.numbers[line - 1] if self.numbers else line


def search(facts: Mapping[str, Fields]) -> Fields | None:
    """Return the facts of the section `known` as of today; None without a text to search."""
    scanner = log_scanner.Scanner(failures.read())
    findings = tuple(_findings(facts.get("checks", {})))
    then = facts.get("known", {})
    made: Fields = {"matches": [], "searched": []}
    for text in _texts(facts):
        data = "\n".join(text.lines).encode("utf-8", "replace")
        scan = scanner.scan(io.BytesIO(data))
        made["searched"].append(text.source)
        matches = machine_evidence.confirmed(
            _with_then(scan, text), machine_evidence.HostFindings(findings, has_tpu=None)
        )
        made["matches"] += [_fields(one, text) for one in matches[: reported_failures.MOST]]
    told = {name: then[name] for name in ("lines", "last_error") if then.get(name) is not None}
    return made | told if made["searched"] else None


def today(name: str) -> str:
    """Return the id that a failure has today; the same one if it is unknown."""
    return next((one.id for one in failures.read() if name in (one.id, *one.aliases)), name)


def _texts(facts: Mapping[str, Fields]) -> Iterator[_ScannedText]:
    section = facts.get("known", {})
    matches = cast("list[Fields]", section.get("matches") or [])
    rows = [one for one in matches if one["id"] and one["quote"]]
    searched = cast("list[str]", section.get("searched") or [])
    then = {
        source: {today(one["id"]): one for one in rows if one["from"] == source}
        for source in reported_failures.SOURCES
    }
    if reported_failures.FROM_LOG in searched or then[reported_failures.FROM_LOG]:
        quoted = sorted(then[reported_failures.FROM_LOG].values(), key=_line)
        lines = tuple(" ".join(str(one["quote"]).split()) for one in quoted)
        yield _ScannedText(
            reported_failures.FROM_LOG,
            lines,
            then[reported_failures.FROM_LOG],
            tuple(map(_line, quoted)),
        )
        last = " ".join(str(section.get("last_error") or "").split())
        if last and last not in lines:
            yield _ScannedText(
                reported_failures.FROM_LAST, (last,), then[reported_failures.FROM_LAST]
            )
    for name in frameworks.STEPS:
        parts = (
            facts.get(name, {}).get(key)
            for key in ("output", "libtpu_log", "python_stack", "native_stack", "error")
        )
        yield from _whole(name, [str(one) for one in parts if one], then[name])
    files = cast("list[Fields]", facts.get("reproducers", {}).get("files") or [])
    yield from _whole(
        reported_failures.FROM_FILES,
        [str(one["output"]) for one in files if one["output"]],
        then[reported_failures.FROM_FILES],
    )
    errors = cast("list[Fields]", facts.get("checks", {}).get("errors") or [])
    yield from _whole(
        reported_failures.FROM_CHECKS,
        [str(one["log"]) for one in errors if one["log"]],
        then[reported_failures.FROM_CHECKS],
    )


def _whole(source: str, parts: Sequence[str], then: Mapping[str, Fields]) -> Iterator[_ScannedText]:
    """Yield a text of the report, extended by the quotes that it lacks."""
    text = "\n".join(parts)
    more = (str(one["quote"]) for one in then.values())
    lines = [*text.split("\n"), *(one for one in more if one not in text)]
    if any(line.strip() for line in lines):
        yield _ScannedText(source, tuple(lines), then)


def _with_then(scan: LogScan, text: _ScannedText) -> list[ranking.FailureMatch]:
    """Return today's matches of a text, and those of then that still have a sign."""
    found = {one.failure.id: one for one in ranking.rank(scan, failures.read())}
    for failure in failures.read():
        row, signs = text.then.get(failure.id), scan.seen.get(failure.id, SeenFailure()).signs
        if row is None or signs.get("unless"):
            continue
        shown = [*signs.get("shows", ()), *signs.get("suggests", ())]
        if not shown and name_shapes.PSEUDONYM.search(str(row["quote"])):
            # The text that matched may be behind a pseudonym, so nothing speaks against it.
            shown = [FailureSign("", _line(row), str(row["quote"]))]
        if not shown:
            continue
        shown.sort(key=lambda sign: sign.line)
        one = found.get(failure.id) or ranking.FailureMatch(
            failure, "possible", tuple(shown), str(row["explained_by"] or "")
        )
        found[failure.id] = replace(one, confidence=_sure(one, row), here=str(row["here"] or ""))
    return ranking.in_order(found.values())


def _sure(one: ranking.FailureMatch, row: Fields) -> ranking.Confidence:
    """Return the confidence of then if its machine was looked at, else the higher one."""
    then: Any = row["confidence"] if row["confidence"] in _SURENESS else "possible"
    if row["here"]:
        return then
    return max(one.confidence, then, key=_SURENESS.index)


def _fields(one: ranking.FailureMatch, text: _ScannedText) -> Fields:
    """Return the row of a failure, with the line and the quote that it had then."""
    fields = reported_failures.fields(one, text.source)
    row = text.then.get(one.failure.id)
    line = _line(row) if row else text.number(int(fields["line"]))
    return fields | {"line": line, "quote": row["quote"] if row else fields["quote"]}


def _line(row: Fields) -> int:
    number = row["line"]
    return number if type(number) is int and number > 0 else 1


def _findings(checks: Fields) -> Iterator[Fields]:
    for one in cast("list[Fields]", checks.get("findings") or []):
        yield {
            "code": one["code"],
            "verdict": one["verdict"],
            "name": one["what"],
            "hint": one["hint"],
            "found": None,
            "expected": None,
            "unit": None,
            "entity": None,
        }
