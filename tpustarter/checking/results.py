"""The outcome of one check, and of a whole run: plain data that every renderer shares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from tpustarter.problem import ExitCode

SCHEMA = "tpustarter.report/1"
"""Name of the document a run becomes; changes within a major number only add."""

LEARN_SCHEMA = "tpustarter.learn/1"
"""Name of the document lessons become; `learning/schema.json` is its shape."""

REHEARSAL_SCHEMA = "tpustarter.rehearsal/1"
"""Name of the document a rehearsal becomes; `rehearsal/schema.json` is its shape."""

Status = Literal["pass", "warn", "fail", "error", "skip", "notrun"]
STATUSES: tuple[Status, ...] = ("pass", "warn", "fail", "error", "skip", "notrun")

Reason = Literal[
    "timeout", "crashed", "exception", "protocol", "load", "lost",
    "not-applicable", "missing-resource", "dependency", "level", "user",
    "interrupted", "fail-fast", "budget",
]  # fmt: skip
"""Why there is no verdict; stands beside every error, skip and notrun."""

Kind = Literal["tpu", "gpu", "cpu", "virtual-cpu", "none"]
KINDS: tuple[Kind, ...] = ("none", "virtual-cpu", "cpu", "gpu", "tpu")
"""Where a claim can be shown to hold, weakest first."""


@dataclass(frozen=True)
class Cause:
    """What another check has found, which made this one fail."""

    check: str
    finding: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """How one check ended."""

    id: str
    title: str
    status: Status
    reason: Reason | None = None
    detail: str = ""
    """What belongs to the reason: the exception, the signal, the checks that failed before."""
    seconds: float = 0.0
    ran_on: dict[str, Any] | None = None
    findings: tuple[dict[str, Any], ...] = ()
    log: str = ""
    """The last lines its process wrote; empty for a check that passed."""
    lesson: str = ""
    framework: str = ""
    optional: bool = False
    cause: Cause | None = None
    """Why it failed, where another check of the run shows that for certain."""

    @property
    def kind(self) -> Kind:
        """Return where it ran, in the words of `verified_on`."""
        if not self.ran_on:
            return "none"
        if self.ran_on["virtual"]:
            return "virtual-cpu"
        platform = str(self.ran_on["platform"])
        return platform if platform in ("tpu", "gpu", "cpu") else "none"


@dataclass(frozen=True)
class Blocked:
    """Why frameworks were not started at all."""

    what: str
    """One sentence, with the value found."""
    code: ExitCode
    """The exit code when nothing worse happened."""
    hint: str = ""
    """The command to run next."""
    reason: Reason = "missing-resource"
    """The reason of each check that was skipped for it."""


@dataclass
class Run:
    """Everything a report says about one run."""

    version: str
    started: str
    level: str
    ids: list[str] = field(default_factory=list[str])
    """The patterns asked for; empty for all."""
    seconds: float = 0.0
    target: dict[str, Any] = field(default_factory=dict[str, Any])
    host: dict[str, Any] = field(default_factory=dict[str, Any])
    results: list[Result] = field(default_factory=list[Result])
    blocked: Blocked | None = None
    """Why frameworks were not started, where they were not."""
    require: str | None = None
    """The platform given with `--require`."""
    fail_on_warn: bool = False
    stopped_by: int | None = None
    """The signal that stopped the run."""

    def counts(self) -> dict[str, int]:
        """Return the number of results per status, zeros included."""
        counter = Counter(result.status for result in self.results)
        return {status: counter[status] for status in STATUSES}

    def failed(self) -> list[Result]:
        """Return the required checks that failed."""
        return [
            result for result in self.results if result.status == "fail" and not result.optional
        ]
