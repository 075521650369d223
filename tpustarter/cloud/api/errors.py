"""Match Google's errors with known failures, and convert them to Problems.

The rows are those of `explain/failures.yml` that have a `google` field. A row's kind decides
whether a call is retried. A text that no row matches gets its kind from the gRPC code, and is shown
unchanged. Zone, name and project in Google's text fill in the fix, so that it can be pasted; only
values that are safe in a shell are used.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tpustarter.cloud.doctor import quota_errors
from tpustarter.cloud.doctor.quota_errors import Detail, ExceededQuota
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.explain import known_failures
from tpustarter.probe.finding import Hint
from tpustarter.text import terminal

Kind = Literal[
    "capacity",
    "internal",
    "quota",
    "rate",
    "config",
    "denied",
    "auth",
    "setup",
    "name",
    "missing",
    "state",
    "network",
    "ssh",
    "unknown",
]

EXIT_CODES: dict[str, ExitCode] = {
    "capacity": ExitCode.BUSY,
    "internal": ExitCode.BUSY,
    "rate": ExitCode.BUSY,
    "network": ExitCode.BUSY,
    "denied": ExitCode.DENIED,
    "auth": ExitCode.DENIED,
    "quota": ExitCode.DENIED,
    "setup": ExitCode.DENIED,
    "config": ExitCode.USAGE,
    "name": ExitCode.USAGE,
    "missing": ExitCode.USAGE,
}
"""Exit codes of `tpustarter tpu` by kind; 1 for the others."""

_BY_GRPC_CODE: dict[int, Kind] = {
    3: "config",
    4: "network",
    5: "missing",
    6: "name",
    7: "denied",
    8: "quota",
    9: "state",
    10: "state",
    11: "config",
    12: "config",
    13: "internal",
    14: "network",
    16: "auth",
}


_SAFE = re.compile(r"[A-Za-z0-9][\w.:-]{0,99}")
_METADATA = {"location": "ZONE", "service": "SERVICE", "consumer": "PROJECT"}
"""ErrorInfo fields, and the placeholders that they fill in."""
READ_AT_MOST = 20_000
SHOWN_AT_MOST = 600
"""Limits on Google's text in characters, because a proxy may return a whole web page."""


@dataclass(frozen=True)
class CloudFailure:
    """A known error of Google's service: the texts it matches, its meaning and its fix."""

    id: str
    kind: Kind
    patterns: tuple[re.Pattern[str], ...]
    """Patterns, one of which matches the error's text; named groups fill in `what` and `fix`."""
    what: str
    """The failure, lowercase and without a full stop."""
    why: str
    fix: tuple[str, ...]
    """Fixes, most likely first; each is a sentence or a command."""
    sources: tuple[str, ...]
    read: str | None
    """A lesson, as `track/id`."""
    grpc_code: int | None
    example: str
    """The text of a real error."""


class CloudProblem(Problem):
    """An error from Google's service, with an explanation and Google's own text."""

    def __init__(
        self,
        failure: CloudFailure | None,
        kind: Kind,
        text: str,
        doing: str,
        *,
        values: Mapping[str, str] | None = None,
        quotas: Sequence[ExceededQuota] = (),
    ) -> None:
        fixes = (
            [known_failures.fill_placeholders(fix, values or {}) for fix in failure.fix]
            if failure
            else []
        )
        summary = known_failures.fill_placeholders(failure.what, values or {}) if failure else doing
        if quotas and failure:
            summary += f" ({'; '.join(map(str, quotas))})"
        shown = terminal.cut_text(terminal.escape_text(" ".join(text.split())), SHOWN_AT_MOST)
        super().__init__(
            summary,
            detail=f"Google's text: {shown or 'none'}",
            hint=_as_hint(fixes[0]) if fixes else _HINTS.get(kind),
            read=failure.read if failure else None,
            code=EXIT_CODES.get(kind, ExitCode.FAILED),
        )
        self.failure = failure
        """The matching row; None for an unknown error."""
        self.kind: Kind = kind
        self.text = text
        """Google's own text."""
        self.why = failure.why if failure else ""
        self.fixes = tuple(fixes)
        """All fixes, most likely first, with this error's names filled in."""
        self.quotas = tuple(quotas)
        """The quotas that the request exceeded."""


_LOST = "try again; `tpustarter tpu list` shows what came of a request that was on its way"
_HINTS = {
    "network": _LOST,
    "unknown": _LOST,
    "internal": "try once more, then ask for a smaller slice or for another zone",
    "denied": "`tpustarter tpu doctor` looks at the project, its roles and its quota",
    "auth": "`gcloud auth application-default login`, then this again",
    "quota": "`tpustarter tpu doctor` lists the quota of the project",
}


def _as_hint(fix: str) -> Hint:
    if known_failures.is_fix_command(fix):
        return Hint(f"`{fix}`", command=fix)
    return Hint(fix[0].lower() + fix[1:].removesuffix("."))


@functools.cache
def read_known_cloud_failures(file: Path = known_failures.FILE) -> tuple[CloudFailure, ...]:
    """Return Google's known errors; raises Problem if a row is invalid."""
    return tuple(
        _failure(row, row.google) for row in known_failures.read_known_failures(file) if row.google
    )


def _failure(row: known_failures.KnownFailure, google: known_failures.GoogleError) -> CloudFailure:
    kind: Kind | None = next((one for one in get_args(Kind) if one == google.kind), None)
    if kind is None:
        raise Problem(
            f"the row `{row.id}` of known failures has the kind {google.kind!r}, not one of "
            f"{', '.join(get_args(Kind))}"
        )
    return CloudFailure(
        id=row.id,
        kind=kind,
        patterns=tuple(_compiled(row, one) for one in (*row.shows, *row.suggests)),
        what=row.what,
        why=row.why,
        fix=row.fix,
        sources=row.sources,
        read=row.read or None,
        grpc_code=google.grpc_code,
        example=row.examples[0] if row.examples else "",
    )


def _compiled(row: known_failures.KnownFailure, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(known_failures.generalise_pattern(pattern), re.IGNORECASE)
    except re.error as error:
        raise Problem(f"the row `{row.id}`: its pattern {pattern!r} is wrong: {error}") from error


def match_failure(text: str, grpc_code: int | None) -> CloudFailure | None:
    """Return the known failure that matches an error's text, preferring one with its gRPC code."""
    plain = _plain(text)
    matches = [row for row in read_known_cloud_failures() if _found(row, plain)]
    same_code = [row for row in matches if row.grpc_code in (None, grpc_code)]
    return next(iter(same_code or matches), None)


def _found(failure: CloudFailure, plain: str) -> re.Match[str] | None:
    searches = (pattern.search(plain) for pattern in failure.patterns)
    return next((found for found in searches if found), None)


def make_cloud_problem(
    grpc_code: int | None, text: str, doing: str, details: Sequence[object] = ()
) -> CloudProblem:
    """Return the Problem for one of Google's errors.

    Args:
        grpc_code: The error's gRPC code, such as 8 for RESOURCE_EXHAUSTED; None if it has none.
        text: Google's own text.
        doing: The summary for an unknown error: "Google Cloud did not list the nodes".
        details: The google.rpc messages that came with it, such as QuotaFailure; packed or not.
    """
    known = list(quota_errors.unpack_details(details))
    told = text.strip()[:READ_AT_MOST]
    searched = "\n".join((told, *_lines(known)))
    failure = match_failure(searched, grpc_code)
    kind = failure.kind if failure else _BY_GRPC_CODE.get(grpc_code or 0, "unknown")
    quotas = quota_errors.parse_quotas(_plain(told), known) if kind in ("quota", "rate") else ()
    values = _values(failure, _plain(searched), known) if failure else {}
    return CloudProblem(failure, kind, told, doing, values=values, quotas=quotas)


def _plain(text: str) -> str:
    """Return text without JSON, YAML and HTTP escapes: plain quotes, single spaces."""
    text = text[:READ_AT_MOST].replace("\\u0027", "'").replace("&#39;", "'").replace("&quot;", '"')
    text = re.sub(r"(?<!\\)\\+([\"'])", r"\1", text)  # each run of backslashes is tried once
    return re.sub(r"(\s|\\[nrt])+", " ", text)


def _lines(details: Sequence[Detail]) -> list[str]:
    """Return the details as lines, so that patterns can match them too."""
    lines: list[str] = []
    for detail in details:
        name = detail.DESCRIPTOR.full_name
        if name == "google.rpc.ErrorInfo":
            lines.append(f"reason: {detail.reason}")
        elif name in ("google.rpc.QuotaFailure", "google.rpc.PreconditionFailure"):
            lines += [f"{row.description} {getattr(row, 'type', '')}" for row in detail.violations]
    return lines


def _values(failure: CloudFailure, text: str, details: Sequence[Detail]) -> dict[str, str]:
    """Return the values for a row's placeholders: single words that are safe in a shell."""
    values: dict[str, str] = {}
    for detail in details:
        if detail.DESCRIPTOR.full_name == "google.rpc.ErrorInfo":
            for field, name in _METADATA.items():
                values[name] = str(detail.metadata.get(field, "")).removeprefix("projects/")
    found = _found(failure, text)
    values |= {name: value for name, value in (found.groupdict() if found else {}).items() if value}
    return {name: value for name, value in values.items() if _SAFE.fullmatch(value)}
