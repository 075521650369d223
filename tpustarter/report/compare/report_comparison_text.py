"""The comparison of two reports as text: a line per difference, followed by the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpustarter.report.compare.report_comparison import ReportComparison
from tpustarter.report.compare.suspicious_differences import ReportDifference
from tpustarter.report.forms.report_view import format_scalar
from tpustarter.text import phrases
from tpustarter.text.terminal import WIDTH, escape_text, wrap

MAX_SHOWN = 40
"""Maximum number of differences in the text; the JSON document has all of them."""
_SECTION, _FACT = 11, 31
_VALUE = (WIDTH - _SECTION - _FACT - 3) // 2
_BELOW = " " * _SECTION
_PART = re.compile(r"^(findings|matches|packages|values|flags|errors)\.")
"""Prefixes of names that repeat the section."""


def render_comparison(compared: ReportComparison) -> str:
    """Return a comparison as text of at most 80 columns, except for words that cannot be broken."""
    lines: list[str] = []
    for key, one in (("A", compared.a), ("B", compared.b)):
        made = one.made.replace("T", " ").replace("+00:00", " UTC")
        head = f"{key}  {one.name}, made {made} by tpustarter {one.version}"
        lines += wrap(head, hang="   ")
        lines += [row for note in one.notes for row in wrap(note, "   ")]
    if compared.differences:
        lines += ["", *_format_table(compared.differences)]
    return "\n".join([*lines, "", *_format_summary(compared)])


def _format_table(differences: list[ReportDifference]) -> Iterator[str]:
    yield f"{'':<{_SECTION}}{'':<{_FACT}} {'A':<{_VALUE}} B"
    for row in differences[:MAX_SHOWN]:
        fact, a, b = (
            _PART.sub("", escape_text(row.fact)),
            _format_value(row.a),
            _format_value(row.b),
        )
        if len(fact) <= _FACT and len(a) <= _VALUE and len(b) <= _VALUE:
            yield f"{row.section:<{_SECTION}}{fact:<{_FACT}} {a:<{_VALUE}} {b}"
        else:
            yield from wrap(fact, f"{row.section:<{_SECTION}}", _BELOW)
            yield from wrap(a, f"{_BELOW}  A  ", f"{_BELOW}     ")
            yield from wrap(b, f"{_BELOW}  B  ", f"{_BELOW}     ")
        if row.why:
            yield from wrap(row.why, f"{_BELOW}  ", f"{_BELOW}  ")
    if len(differences) > MAX_SHOWN:
        yield f"and {len(differences) - MAX_SHOWN} more, all of them with --json"


def _format_summary(compared: ReportComparison) -> Iterator[str]:
    differences, facts = len(compared.differences), phrases.format_count(compared.compared, "fact")
    what = f"{differences} differ" if differences else "nothing differs"
    also = ""
    if compared.expected:
        also = (
            f" Not counted: {compared.expected} that differ between any two reports, such as "
            "times and what programs printed."
        )
    yield from wrap(f"Of {facts} compared, {what}.{also}")
    for one in compared.unanswered:
        if len(one.without) == 1:
            where = one.without[0].upper()
            line = f"Only {where} has no answer for: {one.title} ({one.why[0]})."
            yield from wrap(escape_text(line))
    if neither := [one.title for one in compared.unanswered if len(one.without) == 2]:
        yield from wrap(f"Neither has an answer for: {', '.join(neither)}.")
    if compared.pseudonyms:
        yield from wrap(
            "If both reports are from one machine, host-1 is the same host in both. If not, it "
            "stands for two hosts, and so do user-1, path-1 and the like."
        )


def _format_value(value: object) -> str:
    return "-" if value is None else escape_text(format_scalar(value))
