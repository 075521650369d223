"""The content of `report.json` as types.

A fact has passed its field's rule (`allowed_fields`) or is missing; `read_facts` omits nulls. Any
value of a row may be replaced by `WITHHELD`, which is a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from tpustarter.core.json_values import JsonValue, as_object, is_array, is_object, items_of_type
from tpustarter.machine import frameworks

FRAMEWORK_SECTIONS = (*frameworks.FRAMEWORKS, "torch")
"""Sections with results from frameworks."""
State = Literal["answered", "unanswered", "left out"]
Figure = bool | int | float
Texts = list[str] | str
"""Texts, or `WITHHELD`."""


class StalePackage(msgspec.Struct):
    """A package with a newer version available."""

    name: str
    found: str
    newest: str


class KnownMatch(msgspec.Struct, kw_only=True):
    """A known failure whose signs are in some text of the report."""

    id: str = ""
    title: str = ""
    confidence: str = ""
    source: str = msgspec.field(default="", name="from")
    """The text that shows it."""
    line: Figure | str = 1
    quote: str = ""
    fix: Texts = []
    sources: Texts = []

    @property
    def source_page(self) -> str:
        """The page to read first."""
        return self.sources if isinstance(self.sources, str) else self.sources[0]


class FrameworkHang(msgspec.Struct):
    """A step in which a framework hung."""

    framework: str
    step: str = msgspec.field(name="in")
    seconds: Figure
    likely: str | None
    """The likely reason, if the facts suggest one."""


class UnansweredSection(msgspec.Struct):
    """A section without facts."""

    name: str
    why: str | None
    seconds: float


class ReportTriage(msgspec.Struct):
    """The beginning of a report: its assessment, made from the sections."""

    stale: list[StalePackage]
    known: list[KnownMatch]
    tracker: str
    file_at: str
    search_at: str
    why_there: str
    hung: list[FrameworkHang]
    unanswered: list[UnansweredSection]


class ReportSection(msgspec.Struct):
    """A section of a report: the facts of one collector, and how long they took."""

    name: str
    title: str
    state: State
    why: str | None = None
    """The reason why there are no facts."""
    seconds: float = 0.0
    facts: dict[str, JsonValue] = {}


class OpenedReportNotes(msgspec.Struct):
    """Notes on an opened report: how it differs from the report when it was made."""

    name: str
    by: str
    """The version that assessed it again."""
    notes: list[str]
    differs: list[str]


class ReportDocument(msgspec.Struct):
    """A bug report, as published in `schema.json`."""

    schema: str
    tool: dict[str, str]
    made: str
    seconds: float
    first: ReportTriage
    sections: list[ReportSection]
    replacements: dict[str, int]
    left_out: list[dict[str, str]]
    opened: OpenedReportNotes | msgspec.UnsetType = msgspec.UNSET
    exit_code: int = 0


class HiddenPackage(msgspec.Struct):
    """A second version of a package, which Python does not use."""

    name: str = ""
    version: str = ""


class PythonFacts(msgspec.Struct):
    """The `python` section of a bug report: the interpreter's version and its packages."""

    python_version: str = "unknown"
    packages: dict[str, str] = {}
    libtpu_build: str = ""
    other_libtpu: list[str] = []
    installed_by: dict[str, str] = {}
    not_from_an_index: dict[str, str] = {}
    hidden: list[HiddenPackage] = []


class ProgramFacts(msgspec.Struct):
    """The `program` section of a bug report: the operating system and the architecture."""

    system: str = "unknown"
    kernel: str = "unknown"
    architecture: str = "unknown"


class VariableFacts(msgspec.Struct):
    """The `variables` section of a bug report: environment variables that change a framework."""

    values: dict[str, str] = {}
    flags: list[str] = []
    set: list[str] = []


class LimitFacts(msgspec.Struct):
    """The `limits` section of a bug report: the processors that a process may use."""

    cpus: Figure | None = None


class TpuHolder(msgspec.Struct):
    """A process that uses the TPU."""

    pid: Figure | str | None = None
    command: str = ""


class TpuLock(msgspec.Struct):
    """The lock file of libtpu."""

    state: str = "absent"


class TpuFacts(msgspec.Struct):
    """The `tpu` section of a bug report: chips, device nodes, and the processes that use them."""

    chips: Figure = 0
    reachable_chips: Figure | str = "unknown"
    sees_every_process: Figure = True
    generation: list[str] = []
    lock: TpuLock = msgspec.field(default_factory=TpuLock)
    holders: list[TpuHolder] = []


class MetadataFacts(msgspec.Struct):
    """The `metadata` section of a bug report: the TPU, as Google's metadata server describes it."""

    accelerator_type: str = ""
    runtime_version: str = ""
    zone: str = ""
    worker: Figure | None = None
    hosts: Figure | None = None
    waits_for_other_hosts: Figure = False


class ResourceFacts(msgspec.Struct):
    """The `resources` section of a bug report: processors, memory, disk and container."""

    cpu: str = ""
    uptime_s: Figure | None = None
    memory_bytes: Figure | None = None
    available_bytes: Figure | None = None
    limit_bytes: Figure | None = None
    oom_kills: Figure = 0
    container: str = "none"
    host_network: Figure | None = None


class CheckFinding(msgspec.Struct):
    """A finding of the host checks that warns or fails."""

    check: str = ""
    code: str = ""
    verdict: str = ""
    what: str = ""
    hint: str = ""


class CheckError(msgspec.Struct):
    """A host check without a verdict."""

    log: str = ""


class CheckFacts(msgspec.Struct):
    """The `checks` section of a bug report: the results of the host checks."""

    findings: list[CheckFinding] = []
    errors: list[CheckError] = []


class ChangedValue(msgspec.Struct):
    """A version or a fact of the machine that has changed since the last good run."""

    name: str = ""
    before: str = ""
    now: str = ""


class ChangeFacts(msgspec.Struct):
    """The `changes` section of a bug report: differences from the last good run."""

    since: str = ""
    versions: list[ChangedValue] = []
    machine: list[ChangedValue] = []


class FrameworkStep(msgspec.Struct):
    """One step of examining a framework, such as its import, with the outcome."""

    step: str = ""
    state: str = ""


class FrameworkFacts(msgspec.Struct):
    """The section of one framework in a bug report: its versions, steps and devices."""

    steps: list[FrameworkStep] = []
    planned_platform: str = "tpu"
    not_asked_because: str = ""
    hung_in: str = ""
    unfinished_in: str = ""
    load: Figure = 0
    cores: Figure = 1
    waited_s: Figure = 0
    ended: str = ""
    python_stack: str = ""
    native_stack: str = ""
    output: str = ""
    libtpu_log: str = ""
    platform: str = ""
    kind: str = ""
    local: Figure | None = None
    total: Figure | None = None
    metrics: dict[str, Texts] = {}
    environment_info: str = ""
    error: str = ""
    built_from: str = ""


class KnownFailureRow(KnownMatch, kw_only=True):
    """A known failure in the `known` section, with its role and the evidence from this machine."""

    role: str = ""
    explained_by: str = ""
    here: str = ""


class KnownFailureFacts(msgspec.Struct):
    """The `known` section of a bug report: known failures that match."""

    searched: list[str] = []
    lines: Figure | None = None
    last_error: str | None = None
    matches: list[KnownFailureRow] = []


class ReproducerRun(msgspec.Struct):
    """A run of a reproducer in one variant of the settings, and its outcome."""

    variant: str
    outcome: str


class Reproducer(msgspec.Struct):
    """A file that fails as a check or a block did."""

    id: str
    name: str
    title: str
    says: str
    command: str
    code: str
    lines: int
    variants: list[ReproducerRun]
    conclusion: str = ""
    output: str = ""


class MissingReproducer(msgspec.Struct):
    """A failure without a reproducer."""

    id: str
    why: str


class ReproducerFacts(msgspec.Struct):
    """The `reproducers` section of a bug report, without a foreign report's malformed rows."""

    files: list[Reproducer] = []
    without: list[MissingReproducer] = []


class ReportFacts(msgspec.Struct):
    """The facts that a report's assessment uses, with one field per section."""

    program: ProgramFacts = msgspec.field(default_factory=ProgramFacts)
    python: PythonFacts = msgspec.field(default_factory=PythonFacts)
    variables: VariableFacts = msgspec.field(default_factory=VariableFacts)
    limits: LimitFacts = msgspec.field(default_factory=LimitFacts)
    tpu: TpuFacts = msgspec.field(default_factory=TpuFacts)
    metadata: MetadataFacts = msgspec.field(default_factory=MetadataFacts)
    resources: ResourceFacts = msgspec.field(default_factory=ResourceFacts)
    checks: CheckFacts = msgspec.field(default_factory=CheckFacts)
    changes: ChangeFacts = msgspec.field(default_factory=ChangeFacts)
    frameworks: dict[str, FrameworkFacts] = {}
    known: KnownFailureFacts = msgspec.field(default_factory=KnownFailureFacts)
    reproducers: ReproducerFacts = msgspec.field(default_factory=ReproducerFacts)

    def framework(self, name: str) -> FrameworkFacts:
        """Return a framework's facts, which are empty if it was not queried."""
        return self.frameworks.get(name) or FrameworkFacts()


def read_facts(sections: Iterable[ReportSection]) -> ReportFacts:
    """Return the facts of a report's sections as types, for new and opened reports."""
    facts = {one.name: as_object(_without_null(one.facts)) for one in sections}
    files = facts.get("reproducers", {})
    facts["reproducers"] = {
        "files": items_of_type(files.get("files"), Reproducer),
        "without": items_of_type(files.get("without"), MissingReproducer),
    }
    facts["frameworks"] = {name: facts[name] for name in facts if name in FRAMEWORK_SECTIONS}
    return msgspec.convert(facts, ReportFacts)


def _without_null(value: object) -> object:
    if is_object(value):
        return {name: _without_null(one) for name, one in value.items() if one is not None}
    return [_without_null(one) for one in value] if is_array(value) else value
