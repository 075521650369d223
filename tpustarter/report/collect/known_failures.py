"""Known failures that match the user's log, the output of frameworks, or failing checks."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.explain import (
    explanation_text,
    failure_ranking,
    known_failures,
    last_error,
    log_scanner,
    machine_evidence,
)
from tpustarter.report.clean.allowed_fields import (
    choice_rule,
    clean_number,
    clean_own_text,
    cleaned_text_rule,
    list_rule,
    pattern_rule,
    rows_rule,
)
from tpustarter.report.collect.collector import Collector, CollectorUnanswered, ReportContext
from tpustarter.report.report_document import FRAMEWORK_SECTIONS

MAX_MATCHES = 6
"""Maximum number of reported matches per text; the first is the root cause."""
LOG_S = 120.0
"""Timeout for reading the user's log."""
FROM_LOG, FROM_LAST_ERROR, FROM_CHECKS = "the log", "the last error of the log", "failing checks"
FROM_FILES = "the files that reproduce failures"
SOURCES = (FROM_LOG, FROM_LAST_ERROR, FROM_CHECKS, FROM_FILES, *FRAMEWORK_SECTIONS)
"""The texts that are searched for known failures; `FROM_LAST_ERROR` only in a reopened report."""


def collect_known_failures(context: ReportContext) -> dict[str, object]:
    """Search all texts for known failures, and confirm them with findings from this machine."""
    scanner = log_scanner.FailureScanner(
        known_failures.read_known_failures(), Redactor(context.machine.env).redact_secrets
    )
    checks = context.shared.checks
    results = checks.results if checks else ()
    machine = machine_evidence.MachineEvidence(
        tuple(finding for result in results for finding in result.findings),
        has_tpu=bool(checks and checks.host.get("chips")),
    )
    matches: list[dict[str, object]] = []
    searched: list[str] = []
    more: dict[str, object] = {}
    for source, stream in _open_texts(context):
        with stream:
            scan = scanner.scan(stream)
        searched.append(source)
        if source == FROM_LOG:
            more = {
                "lines": scan.lines,
                "last_error": last_error.find_last_error(scan.last) or None,
            }
        found = machine_evidence.add_machine_evidence(
            failure_ranking.rank_failures(scan, known_failures.read_known_failures()), machine
        )
        matches += [make_known_failure_row(one, source) for one in found[:MAX_MATCHES]]
    if not searched:
        raise CollectorUnanswered("there is no text to search; `--log FILE` gives one")
    return {"matches": matches, "searched": searched, **more}


def _open_texts(context: ReportContext) -> Iterator[tuple[str, IO[bytes]]]:
    if context.log is not None:
        yield FROM_LOG, open_log(context)
    for framework, output in context.shared.outputs.items():
        if output.strip():
            yield framework, io.BytesIO(output.encode())
    if printed := "\n".join(context.shared.reproduced).strip():
        yield FROM_FILES, io.BytesIO(printed.encode())
    results = context.shared.checks.results if context.shared.checks else ()
    logs = "\n".join(one.log for one in results if one.status in ("fail", "error"))
    if logs.strip():
        yield FROM_CHECKS, io.BytesIO(logs.encode())


def open_log(context: ReportContext) -> IO[bytes]:
    """Open the user's log, which may be a pipe such as bash's `<(command)`.

    Raises:
        Problem: The log cannot be read.
    """
    try:
        if context.log is not None and (context.log.is_file() or context.log.is_fifo()):
            return context.log.open("rb")
        why = "it is not a file"
    except OSError as error:
        why = error.strerror or str(error)
    raise Problem(f"`{context.log}` cannot be read: {why}", code=ExitCode.USAGE)


def make_known_failure_row(one: failure_ranking.FailureMatch, source: str) -> dict[str, object]:
    """Return a known failure's row in a report."""
    failure, sign = one.failure, one.signs[0]
    return {
        "id": failure.id,
        "from": source,
        "role": failure.role,
        "title": explanation_text.format_problem(one),
        "confidence": one.confidence,
        "explained_by": one.explained_by or None,
        "line": sign.line,
        "quote": sign.quote,
        "here": one.here or None,
        "cause": failure.why,
        "fix": list(failure.fix),
        "sources": list(failure.sources),
    }


_ID = pattern_rule(r"[a-z0-9][a-z0-9._-]{1,80}")
_SOURCE = choice_rule(*SOURCES)

COLLECTORS = (
    Collector(
        "known",
        "Known failures that match",
        collect_known_failures,
        {
            "searched": list_rule(_SOURCE),
            "lines": clean_number,
            "last_error": cleaned_text_rule(2),
            "matches": rows_rule(
                {
                    "id": _ID,
                    "from": _SOURCE,
                    "role": choice_rule("cause", "symptom", "notice"),
                    "title": clean_own_text,
                    "confidence": choice_rule("confirmed", "likely", "possible"),
                    "explained_by": _ID,
                    "line": clean_number,
                    "quote": cleaned_text_rule(2),
                    "here": cleaned_text_rule(2),
                    "cause": clean_own_text,
                    "fix": list_rule(clean_own_text),
                    "sources": list_rule(clean_own_text),
                }
            ),
        },
        limit_s=LOG_S,
    ),
)
