"""Searches the texts of a report again, with the failures that are known today.

A report holds no whole log. Of what was found then there are the lines that showed it, so a failure
stays where one of its patterns is still in them, and with what that machine had confirmed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from tpustarter.explain import known as failures
from tpustarter.explain import looking, ranking, scanning
from tpustarter.explain.scanning import Scan, Seen, Sign
from tpustarter.report import asking, known, name_shapes

Fields = dict[str, Any]
_SURENESS = ("possible", "likely", "confirmed")


@dataclass(frozen=True)
class _Text:
    """A text of a report, and what was found in it then."""

    source: str
    lines: tuple[str, ...]
    then: Mapping[str, Fields]
    """By the id of the failure, as it is called today."""
    numbers: tuple[int, ...] = ()
    """The numbers that the lines had; empty where they are numbered from 1."""

    def number(self, line: int) -> int:
        """Return the number that a line had."""
        return self.numbers[line - 1] if self.numbers else line


def search(facts: Mapping[str, Fields]) -> Fields | None:
    """Return what `known` tells of a report today; null where it holds no text to search."""
    scanner = scanning.Scanner(failures.read())
    findings = tuple(_findings(facts.get("checks", {})))
    then = facts.get("known", {})
    made: Fields = {"matches": [], "searched": []}
    for text in _texts(facts):
        data = "\n".join(text.lines).encode("utf-8", "replace")
        scan = scanner.scan(io.BytesIO(data))
        made["searched"].append(text.source)
        matches = looking.confirmed(_with_then(scan, text), looking.Machine(findings, has_tpu=None))
        made["matches"] += [_fields(one, text) for one in matches[: known.MOST]]
    told = {name: then[name] for name in ("lines", "last_error") if then.get(name) is not None}
    return made | told if made["searched"] else None


def today(name: str) -> str:
    """Return the id that a failure has today; the same where there is none."""
    return next((one.id for one in failures.read() if name in (one.id, *one.aliases)), name)


def _texts(facts: Mapping[str, Fields]) -> Iterator[_Text]:
    section = facts.get("known", {})
    matches = cast("list[Fields]", section.get("matches") or [])
    rows = [one for one in matches if one["id"] and one["quote"]]
    searched = cast("list[str]", section.get("searched") or [])
    then = {
        source: {today(one["id"]): one for one in rows if one["from"] == source}
        for source in known.SOURCES
    }
    if known.FROM_LOG in searched or then[known.FROM_LOG]:
        quoted = sorted(then[known.FROM_LOG].values(), key=_line)
        lines = tuple(" ".join(str(one["quote"]).split()) for one in quoted)
        yield _Text(known.FROM_LOG, lines, then[known.FROM_LOG], tuple(map(_line, quoted)))
        last = " ".join(str(section.get("last_error") or "").split())
        if last and last not in lines:
            yield _Text(known.FROM_LAST, (last,), then[known.FROM_LAST])
    for name in asking.STEPS:
        parts = (facts.get(name, {}).get(key) for key in
                 ("output", "libtpu_log", "python_stack", "native_stack", "error"))  # fmt: skip
        yield from _whole(name, [str(one) for one in parts if one], then[name])
    files = cast("list[Fields]", facts.get("reproducers", {}).get("files") or [])
    yield from _whole(
        known.FROM_FILES, [str(one["output"]) for one in files if one["output"]],
        then[known.FROM_FILES],
    )  # fmt: skip
    errors = cast("list[Fields]", facts.get("checks", {}).get("errors") or [])
    yield from _whole(
        known.FROM_CHECKS, [str(one["log"]) for one in errors if one["log"]],
        then[known.FROM_CHECKS],
    )  # fmt: skip


def _whole(source: str, parts: Sequence[str], then: Mapping[str, Fields]) -> Iterator[_Text]:
    """Yield a text that the report holds, and what it quotes of it beyond."""
    text = "\n".join(parts)
    more = (str(one["quote"]) for one in then.values())
    lines = [*text.split("\n"), *(one for one in more if one not in text)]
    if any(line.strip() for line in lines):
        yield _Text(source, tuple(lines), then)


def _with_then(scan: Scan, text: _Text) -> list[ranking.Match]:
    """Return what a text shows today, and what it showed then and still shows a sign of."""
    found = {one.failure.id: one for one in ranking.rank(scan, failures.read())}
    for failure in failures.read():
        row, signs = text.then.get(failure.id), scan.seen.get(failure.id, Seen()).signs
        if row is None or signs.get("unless"):
            continue
        shown = [*signs.get("shows", ()), *signs.get("suggests", ())]
        if not shown and name_shapes.PSEUDONYM.search(str(row["quote"])):
            # What it was recognised by may be behind a pseudonym, so nothing speaks against it.
            shown = [Sign("", _line(row), str(row["quote"]))]
        if not shown:
            continue
        shown.sort(key=lambda sign: sign.line)
        one = found.get(failure.id) or ranking.Match(
            failure, "possible", tuple(shown), str(row["explained_by"] or "")
        )
        found[failure.id] = replace(one, confidence=_sure(one, row), here=str(row["here"] or ""))
    return ranking.in_order(found.values())


def _sure(one: ranking.Match, row: Fields) -> ranking.Confidence:
    """Return how sure it is: that machine was looked at then, and had more of the text."""
    then: Any = row["confidence"] if row["confidence"] in _SURENESS else "possible"
    if row["here"]:
        return then
    return max(one.confidence, then, key=_SURENESS.index)


def _fields(one: ranking.Match, text: _Text) -> Fields:
    """Return a failure as a report tells it, with the line and the number that it had then."""
    fields = known.fields(one, text.source)
    row = text.then.get(one.failure.id)
    line = _line(row) if row else text.number(int(fields["line"]))
    return fields | {"line": line, "quote": row["quote"] if row else fields["quote"]}


def _line(row: Fields) -> int:
    number = row["line"]
    return number if type(number) is int and number > 0 else 1


def _findings(checks: Fields) -> Iterator[Fields]:
    """Yield what the host checks found then, as far as a report tells it."""
    for one in cast("list[Fields]", checks.get("findings") or []):
        yield {"code": one["code"], "verdict": one["verdict"], "name": one["what"],
               "hint": one["hint"], "found": None, "expected": None, "unit": None,
               "entity": None}  # fmt: skip
