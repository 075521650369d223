"""The events that the probe sends as JSON lines, distinguished by `event`.

`rehearsal_messages` has those of a rehearsal, `slice.messages` those of a run on several hosts, and
`child` their union. A check or a lesson can write to the same pipe, so a reader may not trust that
a field is there and has this type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypedDict

from tpustarter.machine.frameworks import InstalledVersions
from tpustarter.probe.finding import MissingModuleFields

Outcome = Literal[
    "done", "unmet", "no-answer", "exception", "load", "changed", "protocol", "mismatch"
]
"""`mismatch`: the compiler describes another TPU."""


class HostField(TypedDict, total=False):
    """The field that all events have in a run on several hosts."""

    host: int | None
    """The host that the event is about; None for all of them."""


class StartEvent(HostField):
    """A check, block or rehearsal begins."""

    event: Literal["start"]
    id: str


class FindingEvent(HostField):
    """A check has a finding."""

    event: Literal["finding"]
    id: str
    finding: Mapping[str, object]


class ProgressEvent(HostField):
    """A check that takes minutes reports its progress."""

    event: Literal["progress"]
    id: str
    text: str


class AvailableDevices(TypedDict):
    """The devices that a check could use."""

    platform: str
    kind: str
    count: int
    virtual: bool


class OptionalEndEventFields(MissingModuleFields, total=False):
    """The fields that only some outcomes have."""

    detail: str
    exception: str
    """The exception's type."""
    ran_on: AvailableDevices | None
    stored_programs: int
    """Programs that an earlier run compiled, and that a check or a block loaded."""
    lines: list[int]
    """Numbers of a block's lines in the traceback, innermost first."""
    drawings: Sequence[Mapping[str, object]]
    place: str
    """The line of the user's file that the error came through, such as `train.py:12`."""
    missing_lowerer: str
    """The library that lowers PyTorch and is not installed."""
    narrows: bool
    """True if JAX would make the type of an argument half as wide."""
    ended_early: bool
    """True if a script was ended at its limit."""


class EndEventFields(OptionalEndEventFields):
    """How a check, block or rehearsal ended."""

    outcome: Outcome


class EndEvent(EndEventFields, HostField):
    """A check, block or rehearsal has ended."""

    event: Literal["end"]
    id: str
    seconds: float


CheckEvent = StartEvent | FindingEvent | ProgressEvent | EndEvent
EmitCheckEvent = Callable[[CheckEvent], None]


class VersionsEvent(InstalledVersions):
    """The versions of Python and its packages."""

    event: Literal["versions"]


class DrawingsEvent(TypedDict):
    """The drawings so far of a running block."""

    event: Literal["drawn"]
    id: str
    drawings: Sequence[Mapping[str, object]]


class ChildStartedEvent(TypedDict):
    """The supervisor has started the process."""

    event: Literal["started"]
    pid: int


class MemoryExcess(TypedDict):
    """The memory of a process that exceeded its limit."""

    resident_bytes: int
    limit_bytes: int


class OptionalProcessEnd(TypedDict, total=False):
    """The fields that only some ends of a process have."""

    stopped: bool
    """True if the supervisor ended it."""
    memory: MemoryExcess


class ProcessEnd(OptionalProcessEnd):
    """How a process ended."""

    code: int | None
    signal: int | None
    left: list[int]
    """Processes that the kernel did not release."""


class ChildEndedEvent(ProcessEnd):
    """The supervisor's last event: the process has ended."""

    event: Literal["ended"]
