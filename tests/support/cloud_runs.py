"""Helpers for the tests of `cloud`: requests, walks over zones, crashes, and one invariant.

The invariant: at every call, the ledger has each resource at Google that we requested.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests.support.fake_cloud import FakeCloud, Made, Refusal, Step, channel, serving
from tpustarter.cloud.api import message_conversion as api_messages
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.api.tpu_client import TpuClient
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.events import Event
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete import removal
from tpustarter.core.problem import Problem

PROJECT = Project("my-project", "--project")
ZONES = ["us-central1-b", "us-east5-a"]
FIRST, SECOND = ZONES

CAPACITY = (8, 'There is no more capacity in the zone "us-central1-c"; you can try in another zone')
QUOTA = (8, "Quota limit 'TPUV6EPreemptiblePerProjectPerZoneForTPUAPI' has been exceeded. Limit: 0")
INTERNAL = (13, "an internal error has occurred")
CONFIG = (3, "Accelerator type v6e-8 is not available in the zone")
DENIED = (7, "Permission 'tpu.queuedresources.create' denied on 'projects/my-project'")
GONE_AWAY = (14, "Socket closed")

MOST_EVENTS = 10_000

_Result = TypeVar("_Result")


def asked(zone: str = ZONES[0], name: str = "bert", **more: Any) -> TpuRequest:
    """Return a request for a spot v6e-8."""
    more = {"tier": "spot", **more}
    return TpuRequest(name, tpu_request.parse_type("v6e-8"), zone, "v2-alpha-tpuv6e", **more)


def everywhere(zones: Sequence[str] = ZONES, **more: Any) -> list[TpuRequest]:
    """Return the same request for each zone."""
    return [asked(zone, **more) for zone in zones]


@dataclass
class ZonesCloud(FakeCloud):
    """A service with its own refusals and operations for each zone."""

    def __post_init__(self) -> None:
        self.refusals: dict[str, list[tuple[int, str] | None]] = {}
        """Errors for the next requests in a zone; None accepts one."""
        self.is_lost: dict[str, list[bool]] = {}
        """True for each of the next requests in a zone that is carried out but not answered."""
        self.by_others: set[str] = set()
        """Full names of the resources that somebody else created."""

    def _create_queued_resource(self, request: Any) -> Any:
        zone = request.parent.rpartition("/")[2]
        queue = self.refusals.get(zone)
        refusal = queue.pop(0) if queue else None
        if refusal:
            raise Refusal(*refusal)
        operation = super()._create_queued_resource(request)
        lost = self.is_lost.get(zone)
        if lost and lost.pop(0):
            raise Refusal(*GONE_AWAY)
        return operation

    def add_foreign(
        self, zone: str, name: str, steps: tuple[Step, ...] = ((0, "ACTIVE"),), **more: Any
    ) -> str:
        """Add somebody else's queued resource, and return its full name."""
        message = api_messages.make_queued_resource_message(asked(zone, name, **more), PROJECT.name)
        full = f"projects/{PROJECT.name}/locations/{zone}/queuedResources/{name}"
        message.name = full
        self.made[full] = Made(message, self.clock.now(), steps)
        self.by_others.add(full)
        return full

    def ours(self) -> set[tuple[str, str]]:
        """Return zone and name of the existing resources that we requested."""
        return {
            (name.split("/")[3], name.split("/")[-1])
            for name, one in self.made.items()
            if name not in self.by_others and self.state_of(one)
        }


@contextlib.contextmanager
def two_zones(seed: int = 2) -> Generator[ZonesCloud]:
    """Run a service with two zones and a fixed random seed."""
    random.seed(seed)
    with serving(ZonesCloud()) as served:
        assert isinstance(served, ZonesCloud)
        yield served


def remember(client: ProjectClient, *names: str) -> None:
    """Write TPUs into the ledger, as if this program had asked for them."""
    queued, nodes = client.resources()
    for one in removal.plan_all_deletions(queued.items, nodes.items):
        if one.name in names:
            entry = removal.make_entry_for_foreign_tpu(client.project, one)
            ledger.add_ledger_entry(entry)


def in_ledger() -> set[tuple[str, str]]:
    """Return zone and name of the ledger's entries."""
    return {(entry.zone, entry.name) for entry in ledger.read_ledger()}


class CrashError(BaseException):
    """Our process ends here."""


@dataclass
class Crash:
    """Ends the process at one of its calls, before or after the call is carried out."""

    at: int = 0
    """The number of the call, from 1; 0 for never."""
    after: bool = False
    calls: int = 0

    def passes(self, *, after: bool) -> None:
        """Count a call, and end the process if it is the chosen one."""
        self.calls += not after
        if self.calls == self.at and after == self.after:
            raise CrashError


class WatchedClient(TpuClient):
    """The real client, which checks the invariant around every call and crashes at a chosen one."""

    def __init__(self, cloud: ZonesCloud, crash: Crash | None = None, **limits: float) -> None:
        super().__init__(PROJECT.name, channel=channel(cloud), clock=cloud.clock, **limits)
        self._cloud = cloud
        self._crash = crash or Crash()

    def _read(self, doing: str, ask: Callable[[], Any]) -> Any:
        return self._watched(lambda: super(WatchedClient, self)._read(doing, ask), counts=False)

    def _write(self, doing: str, method: Callable[..., Any], **arguments: Any) -> str:
        return self._watched(
            lambda: super(WatchedClient, self)._write(doing, method, **arguments), counts=True
        )

    def _watched(self, call: Callable[[], Any], *, counts: bool) -> Any:
        check_invariant(self._cloud)
        if counts:
            self._crash.passes(after=False)
        try:
            return call()
        finally:
            check_invariant(self._cloud)
            if counts:
                self._crash.passes(after=True)


def check_invariant(cloud: ZonesCloud) -> None:
    """Fail if the ledger lacks an existing resource of ours."""
    assert cloud.ours() <= in_ledger()


def exhaust(happening: Generator[Event, None, _Result]) -> tuple[list[Event], _Result]:
    """Return a generator's events and its return value."""
    seen: list[Event] = []
    try:
        while len(seen) < MOST_EVENTS:
            event = next(happening)
            seen.append(event)
    except StopIteration as end:
        return seen, end.value
    raise AssertionError("it does not end")


def walk(
    cloud: ZonesCloud, requests: Sequence[TpuRequest], client: TpuClient | None = None, **how: Any
) -> tuple[list[Event], QueuedResource | Problem | None]:
    """Return the events of a walk over zones, and its result or the Problem that ended it."""
    seen: list[Event] = []
    happening = TpuCreation(client or WatchedClient(cloud), PROJECT, cloud.clock).run(
        requests, **how
    )
    try:
        while len(seen) < MOST_EVENTS:
            event = next(happening)
            seen.append(event)
            check_invariant(cloud)
    except StopIteration as end:
        check_invariant(cloud)
        return seen, end.value
    except Problem as problem:
        check_invariant(cloud)
        return seen, problem
    raise AssertionError("it does not end")


def told(events: Sequence[Event]) -> list[str]:
    """Return events as short texts: kind, and zone or state."""
    rows = []
    for event in events:
        more = getattr(getattr(event, "resource", None), "state", "")
        entry = getattr(event, "entry", None)
        rows.append(" ".join(filter(None, (type(event).__name__, entry and entry.zone, more))))
    return rows
