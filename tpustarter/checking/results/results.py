"""Results of a check and of a whole run: plain data shared by all renderers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypedDict

import msgspec

from tpustarter.core.problem import ExitCode
from tpustarter.probe.finding import Hint, Value, Verdict

SCHEMA = "tpustarter.report/1"
"""Schema name of a run's document; changes within a major version only add."""

LEARN_SCHEMA = "tpustarter.learn/1"
"""Schema name of a document of lessons, published as `learning/schema.json`."""

REHEARSAL_SCHEMA = "tpustarter.rehearsal/1"
"""Schema name of a rehearsal's document, published as `rehearsal/schema.json`."""

_UNPUBLISHED = ("command", "setup", "ends", "share")
"""Fields of a finding that are left out of documents and state files."""

Status = Literal["pass", "warn", "fail", "error", "skip", "notrun"]
STATUSES: tuple[Status, ...] = ("pass", "warn", "fail", "error", "skip", "notrun")
WORST_FIRST: tuple[Status, ...] = ("fail", "error", "notrun", "warn", "pass", "skip")

Reason = Literal[
    "timeout",
    "crashed",
    "exception",
    "protocol",
    "load",
    "lost",
    "not-applicable",
    "no-answer",
    "missing-resource",
    "dependency",
    "level",
    "user",
    "interrupted",
]
"""Why there is no verdict; set for every error, skip and notrun. `fail-fast` and `budget`, which no
run uses, stay in the schema, because within a version of it nothing published is withdrawn."""

Kind = Literal["tpu", "gpu", "cpu", "virtual-cpu", "none"]
KINDS: tuple[Kind, ...] = ("none", "virtual-cpu", "cpu", "gpu", "tpu")
"""Kinds of devices on which a claim can be verified, weakest first."""


class PublishedFinding(TypedDict):
    """A finding as published in documents and state files; `probe.finding` explains the fields."""

    code: str
    name: str
    verdict: Verdict
    found: Value
    expected: Value
    unit: str | None
    entity: str | None
    hint: str | None
    lesson: str | None


class FindingFields(PublishedFinding, total=False):
    """A finding with the targets of its hint and its share of a documented peak."""

    command: str | None
    setup: str | None
    ends: int | None
    share: float | None


def read_hint(finding: FindingFields) -> Hint:
    """Return a finding's hint with the command, set-up or process that it names."""
    return Hint(
        finding["hint"] or "",
        command=finding.get("command"),
        setup=finding.get("setup"),
        ends=finding.get("ends"),
    )


def select_published_fields(finding: FindingFields) -> dict[str, object]:
    """Return the fields of a finding that appear in documents and state files."""
    return {name: value for name, value in finding.items() if name not in _UNPUBLISHED}


class HostFields(TypedDict, total=False):
    """A document's facts about this machine."""

    chips: int
    generation: str | None
    unknown_google_devices: list[str]
    notebook: str
    """The service whose notebook this is, such as `Kaggle`."""


class SliceHostFields(TypedDict):
    """A document's facts about one host of a run on several hosts."""

    host: int
    hosts: int
    name: str
    python_version: str
    frameworks: dict[str, str]
    platform: str
    chips: int | None
    devices: int | None
    generation: str | None
    accelerator_type: str | None
    worker: int | None
    settings: dict[str, str]
    clock_ahead_s: float
    differs: list[dict[str, Value]]
    """The findings about this host only."""


class UsedDevices(msgspec.Struct, frozen=True):
    """The devices on which a check or a block ran."""

    platform: str
    kind: str
    count: Annotated[int, msgspec.Meta(ge=0)]
    virtual: bool


@dataclass(frozen=True)
class Cause:
    """A finding of another check that explains why this one fails."""

    check: str
    finding: FindingFields


@dataclass(frozen=True)
class Result:
    """The result of one check: status, reason, findings, and the devices it ran on."""

    id: str
    title: str
    status: Status
    reason: Reason | None = None
    detail: str = ""
    """Details of the reason: the exception, the signal, or the checks that failed before."""
    seconds: float = 0.0
    ran_on: UsedDevices | None = None
    findings: tuple[FindingFields, ...] = ()
    log: str = ""
    """The end of its process's output; empty for a check that passed."""
    lesson: str = ""
    framework: str = ""
    optional: bool = False
    cause: Cause | None = None
    """The cause of its failure, if another check of the run proves it."""

    @property
    def kind(self) -> Kind:
        """The kind of device on which it ran, in the terms of `verified_on`."""
        if not self.ran_on:
            return "none"
        if self.ran_on.virtual:
            return "virtual-cpu"
        platform = self.ran_on.platform
        return platform if platform in ("tpu", "gpu", "cpu") else "none"


@dataclass(frozen=True)
class BlockedFramework:
    """The reason why none of a framework's checks was started, with a hint and an exit code."""

    what: str
    """One sentence that includes the value found."""
    code: ExitCode
    """The exit code if nothing worse happened."""
    hint: str = ""
    """One sentence with the command to run next."""
    reason: Reason = "missing-resource"
    """The reason recorded for each check skipped because of it."""


class TargetFields(TypedDict, total=False):
    """A run's Python and devices, as a report shows them; empty until the run is planned.

    A run of lessons has no `why`, `python_version`, `kind`, `planned`, `left_out`, `settings` or
    `others`.
    """

    python: str
    shown: str
    """Its path as the user would type it."""
    why: str
    """The reason why it was chosen."""
    python_version: str
    frameworks: dict[str, str]
    platform: str
    kind: str
    """The kind of the devices that were found, or the platform until some are found."""
    where: str
    devices: int | None
    planned: int | None
    """The number of expected devices on all hosts."""
    virtual: bool
    env: dict[str, str]
    """Environment variables that the run sets."""
    left_out: list[str]
    """Frameworks whose checks are left out."""
    settings: list[str]
    """The user's environment variables that change results."""
    others: list[str]
    """Other Pythons on this machine, with their frameworks."""


@dataclass
class Run:
    """All data about a run that a report shows."""

    version: str
    started: str
    level: str
    ids: list[str] = field(default_factory=list[str])
    """The patterns that the user gave; empty for all checks."""
    seconds: float = 0.0
    target: TargetFields = field(default_factory=TargetFields)
    host: HostFields = field(default_factory=HostFields)
    hosts: list[SliceHostFields] = field(default_factory=list[SliceHostFields])
    """The hosts of a run on several hosts; empty for a run on this host alone."""
    results: list[Result] = field(default_factory=list[Result])
    blocked: BlockedFramework | None = None
    """The reason why frameworks were not started; None if they were."""
    require: str | None = None
    """The platform given with `--require`."""
    fail_on_warn: bool = False
    stored_programs: int = 0
    """Compiled programs that were loaded from earlier runs."""
    stopped_by: int | None = None
    """The signal that stopped the run; None if it ended by itself."""

    def count_statuses(self) -> dict[str, int]:
        """Return the number of results per status, including zeros."""
        counter = Counter(result.status for result in self.results)
        return {status: counter[status] for status in STATUSES}

    def list_failed(self) -> list[Result]:
        """Return the required checks that failed."""
        return [
            result for result in self.results if result.status == "fail" and not result.optional
        ]
