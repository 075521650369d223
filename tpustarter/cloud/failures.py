"""What Google's errors mean: each is matched with a row of `failures.yml`, and becomes a Problem.

The class of a row decides whether a call is tried again. A text that no row knows is classed by
its gRPC code, and shown as it came.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tpustarter import content, locations
from tpustarter.problem import ExitCode, Problem

FILE = Path(__file__).with_name("failures.yml")

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
"""What `tpustarter tpu` ends with, by kind; 1 for the others."""

_BY_GRPC_CODE: dict[int, Kind] = {
    3: "config",
    4: "network",
    5: "missing",
    6: "name",
    7: "denied",
    8: "quota",
    9: "state",
    13: "internal",
    14: "network",
    16: "auth",
}


@dataclass(frozen=True)
class Failure:
    """One known error of Google's, in words."""

    id: str
    kind: Kind
    pattern: re.Pattern[str]
    """Found in the text of the error."""
    what: str
    """What is wrong, lowercase and without a full stop."""
    why: str
    fix: tuple[str, ...]
    """What to do, the most likely first; a sentence or a command."""
    sources: tuple[str, ...]
    read: str | None
    """A lesson, `track/id`."""
    grpc_code: int | None
    example: str
    """The text as somebody met it."""


class CloudProblem(Problem):
    """An error of Google's service, in words and with its own text."""

    def __init__(self, failure: Failure | None, kind: Kind, text: str, doing: str) -> None:
        hint = failure.fix[0] if failure else _HINTS.get(kind)
        what = f"{failure.what if failure else doing}\nGoogle's text: {text or 'none'}"
        super().__init__(
            what,
            hint=hint,
            read=failure.read if failure else None,
            code=EXIT_CODES.get(kind, ExitCode.FAILED),
        )
        self.failure = failure
        """The row that it matched; null for an error that is not known."""
        self.kind: Kind = kind
        self.text = text
        """Google's own words."""


_HINTS = {
    "network": "try again; `tpustarter tpu list` shows what came of a request that was on its way",
    "internal": "try once more, then ask for a smaller slice or for another zone",
    "denied": "`tpustarter tpu doctor` looks at the project, its roles and its quota",
    "auth": "`gcloud auth application-default login`, then this again",
    "quota": "`tpustarter tpu doctor` lists the quota of the project",
}


@functools.cache
def read(file: Path = FILE) -> tuple[Failure, ...]:
    """Return the known errors; raises Problem for a row that cannot be used."""
    rows = content.read_yaml(locations.read_text(file))
    if not isinstance(rows, list):
        raise Problem(f"`{file.name}` holds no list of errors")
    return tuple(_row(row, file.name) for row in rows)  # pyright: ignore[reportUnknownVariableType]


def _row(row: Any, name: str) -> Failure:
    try:
        if row["kind"] not in get_args(Kind) or not row["fix"] or not row["sources"]:
            raise ValueError("its `kind`, `fix` or `sources` is not as documented")
        return Failure(
            id=row["id"],
            kind=row["kind"],
            pattern=re.compile(row["pattern"], re.IGNORECASE | re.DOTALL),
            what=row["what"],
            why=row["why"],
            fix=tuple(row["fix"]),
            sources=tuple(row["sources"]),
            read=row.get("read"),
            grpc_code=row.get("grpc_code"),
            example=row["example"],
        )
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise Problem(f"a row of `{name}` cannot be used: {error}") from error


def match(text: str, grpc_code: int | None) -> Failure | None:
    """Return the row that an error's text matches; one with the same gRPC code comes first."""
    matches = [row for row in read() if row.pattern.search(text[:20_000])]
    same_code = [row for row in matches if row.grpc_code in (None, grpc_code)]
    return next(iter(same_code or matches), None)


def problem(grpc_code: int | None, text: str, doing: str) -> CloudProblem:
    """Return the Problem for an error of Google's.

    Args:
        grpc_code: Its number, such as 8 for RESOURCE_EXHAUSTED; null where there was none.
        text: Google's own words.
        doing: What is shown for an unknown error: "Google Cloud did not list the nodes".
    """
    failure = match(text, grpc_code)
    kind = failure.kind if failure else _BY_GRPC_CODE.get(grpc_code or 0, "unknown")
    return CloudProblem(failure, kind, text.strip(), doing)
