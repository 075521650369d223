"""The messages that the hosts of a run exchange as JSON, and the facts that they send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypedDict

from tpustarter.probe.commands import CheckNeeds, ProgramStoreFields
from tpustarter.probe.events import CheckEvent, EmitCheckEvent, EndEvent, HostField


class CheckFields(ProgramStoreFields):
    """The fields of a check that are sent to every host."""

    id: str
    framework: str
    needs: CheckNeeds
    timeout_s: float
    after: list[str]


class CheckCommand(CheckFields):
    """Host 0's command to run a check."""

    do: Literal["check"]


class SliceVerdict(TypedDict):
    """The end of a run: its exit code and its headline."""

    code: int
    headline: str


class EndCommand(SliceVerdict):
    """Host 0's last message to each other host: the run is over, with this verdict."""

    do: Literal["end"]


RunCheck = Callable[[CheckFields, EmitCheckEvent], None]
"""Runs one check in this process, emitting its findings and its end."""


class CheckRecord(TypedDict):
    """The findings and the end of a check on one host."""

    findings: list[Mapping[str, object]]
    end: EndEvent | None
    """None if the check did not end by itself."""


class HeartbeatMessage(TypedDict):
    """A host's heartbeat: how many it has sent, and the check that the host is running."""

    count: int
    at: int


class CollectedFacts(TypedDict):
    """The facts of one host that need no other host."""

    host: int
    hosts: int
    name: str
    process: int
    python_version: str
    frameworks: dict[str, str]
    chips: int
    platform: str
    devices: int | None
    generation: str | None
    accelerator_type: str | None
    worker: int | None
    settings: dict[str, str]
    time: float


class ArrivalFacts(CollectedFacts, total=False):
    """The facts that a host sends, with its static checks; host 0 adds the clock."""

    checks: list[CheckRecord] | None
    clock_ahead_s: float


class ArrivalAnswer(TypedDict):
    """Host 0's answer to an arrived host: the run goes on, or the exit code with which it ended."""

    goes_on: bool
    code: int
    missing: list[int]
    headline: str
    """Why this host is refused, if it is."""


class GivenHostPosition(TypedDict, total=False):
    """The part of a host's position that the user gave. JAX detects the rest."""

    coordinator: str | None
    hosts: int | None
    host: int | None


class BeginSliceCommand(GivenHostPosition):
    """The command that begins a host's part in a run, sent by the app or `standalone_host.py`."""

    do: Literal["slice"]
    checks: list[CheckFields]
    wait_s: float


class VerdictCommand(TypedDict):
    """The command that ends a run on host 0 and informs the other hosts."""

    do: Literal["verdict"]
    code: int | None
    """The exit code; None to let the checks decide."""
    headline: str


class StandaloneRequest(TypedDict):
    """The run for a host without tpustarter."""

    devices: int | None
    minutes: float | None
    env: dict[str, str]
    slice: StandaloneSliceFields


class StandaloneSliceFields(TypedDict):
    """The fields of a `BeginSliceCommand` that are the same for all hosts."""

    checks: list[CheckFields]
    wait_s: float


class UnknownPositionEvent(HostField):
    """The host does not know its number or the coordinator."""

    event: Literal["no-place"]
    detail: str


class KnownPositionEvent(TypedDict):
    """The host knows its number and the coordinator."""

    event: Literal["placed"]
    host: int
    hosts: int
    coordinator: str


class UnreachedEvent(HostField):
    """Host 0 could not be reached: the host is `trying` again, or has given up."""

    event: Literal["trying", "not-reached"]
    reason: str
    detail: str


class ArrivingEvent(HostField):
    """Host 0 waits for other hosts."""

    event: Literal["arriving"]
    missing: list[int]
    refused: int
    """Hosts with a taken or invalid number, or with another number of hosts."""
    seconds: float


class OptionalArrivedFields(HostField, total=False):
    """The fields that only host 0 sends when it has stopped waiting."""

    members: list[ArrivalFacts]


class ArrivedEvent(OptionalArrivedFields):
    """The host has arrived; on host 0, it has stopped waiting."""

    event: Literal["arrived"]
    missing: list[int]


class ConnectingEvent(HostField):
    """JAX connects the hosts."""

    event: Literal["connecting"]


class CheckBlockedEvent(HostField):
    """A check is not run, because others before it failed."""

    event: Literal["blocked"]
    id: str
    after: list[str]


class CheckedEvent(HostField):
    """A check has ended on all hosts."""

    event: Literal["checked"]
    id: str


class CheckedAllEvent(HostField):
    """All checks have ended, and host 0 waits for the verdict."""

    event: Literal["checked-all"]


class HostLostEvent(HostField):
    """A host was lost, or the connection between them all."""

    event: Literal["lost"]
    id: str
    """The check that was running; empty before the first one."""
    lost: int | None
    why: str
    detail: str


class PortTakenEvent(HostField):
    """Another program listens on host 0's port."""

    event: Literal["port-taken"]
    port: int
    detail: str


class HostFinishedEvent(SliceVerdict, HostField):
    """The run is over on this host."""

    event: Literal["followed"]


SliceEvent = (
    CheckEvent
    | UnknownPositionEvent
    | KnownPositionEvent
    | UnreachedEvent
    | ArrivingEvent
    | ArrivedEvent
    | ConnectingEvent
    | CheckBlockedEvent
    | CheckedEvent
    | CheckedAllEvent
    | HostLostEvent
    | PortTakenEvent
    | HostFinishedEvent
)
Emit = Callable[[SliceEvent], None]
