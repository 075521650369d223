"""The reproducers of a report, in the tracker's form and as files of the bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tpustarter.report.clean.allowed_fields import WITHHELD
from tpustarter.report.forms.report_view import ReportView, escape_markdown, fence_text
from tpustarter.report.report_document import ReportFacts, Reproducer

SECTION = FOLDER = "reproducers"
_FAILED_OUTCOMES = ("fails", "raises", "crashes")
"""Prefixes of the outcomes of failed runs."""
MAX_LINES = 150
"""Maximum number of lines of a file in the issue; a longer one is only in the bundle."""


def collect_reproducer_files(facts: ReportFacts) -> dict[str, bytes]:
    """Return the reproducers and their output, keyed by file name in the bundle."""
    made: dict[str, bytes] = {}
    for one in facts.reproducers.files:
        if _has_code(one):
            made[f"{FOLDER}/{one.name}.py"] = one.code.encode()
            made[f"{FOLDER}/{one.name}.txt"] = "\n".join(_format_run(one)).encode()
    return made


def format_reproducers(view: ReportView) -> Iterator[str]:
    """Yield the part of an issue that reproduces the failures."""
    for one in view.facts.reproducers.files:
        claim = "Claim: " if "." in one.id else ""  # a check's title is the claim that did not hold
        yield from (f"**`{one.id}`**: {claim}" + escape_markdown(f"{one.title}. {one.says}"), "")
        if one.variants:
            yield from ("| variant | outcome |", "|---|---|")
            for row in one.variants:
                yield f"| {_format_variant(row.variant)} | {escape_markdown(row.outcome)} |"
            yield ""
        if one.conclusion:
            yield from (escape_markdown(one.conclusion), "")
        yield from (*_format_file(one), "")
    for without in view.facts.reproducers.without:
        yield from (f"No file reproduces `{without.id}`: {escape_markdown(without.why)}.", "")


def describe_failing_reproducers(view: ReportView) -> Iterator[str]:
    """Yield a clause for each reproducer that failed when it was run for this report."""
    for one in view.facts.reproducers.files:
        if any(row.outcome.startswith(_FAILED_OUTCOMES) for row in one.variants[:1]):
            yield f"`{one.id}` fails, and so does a file that needs no tpustarter (below)."


def _format_variant(title: str) -> str:
    return f"`{title}`" if re.fullmatch(r"\w+=[\w.:-]+", title) else escape_markdown(title)


def _has_code(one: Reproducer) -> bool:
    return WITHHELD not in (one.code, one.name)


def _format_file(one: Reproducer) -> Iterator[str]:
    file = f"{FOLDER}/{one.name}.py"
    if not _has_code(one):
        yield "Its code is left out, because it could not be cleaned."
    elif one.lines > MAX_LINES:
        yield f"The file is `{file}` of the bundle, with {one.lines} lines."
    else:
        yield from (f"<details><summary>{file}</summary>", "")
        yield from (*fence_text(one.code.rstrip(), "python"), "", "</details>")


def _format_run(one: Reproducer) -> Iterator[str]:
    yield from (one.says, *filter(None, [one.conclusion]), "")
    yield from (f"{row.variant}: {row.outcome}" for row in one.variants)
    yield from ("", f"$ {one.command}", one.output or "(nothing)", "")
