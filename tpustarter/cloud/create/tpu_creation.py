"""Creation of a TPU in the first zone with capacity, with only one request active at a time.

A request that waits longer than the user's patience is withdrawn before the next zone is tried, so
that two TPUs are never billed. If it cannot be withdrawn, it stays in the ledger. A request that
this program left behind in a crash is resumed if the name is the same; someone else's resource is
left alone.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence

from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem, make_cloud_problem
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import QueuedResource
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.billing.ledger_reconciliation import explain_existence
from tpustarter.cloud.create.events import (
    Event,
    RequestGone,
    RequestMayExist,
    RequestRefused,
    RequestResumed,
    SendingPaused,
    TpuReady,
)
from tpustarter.cloud.create.follow_request import QUEUED, follow_request
from tpustarter.cloud.create.submit_request import submit_request
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete import ownership
from tpustarter.cloud.delete.withdrawal import wait_until_gone, withdraw_request
from tpustarter.core.problem import ExitCode, Problem

PATIENCE_S = 900.0
"""Longest wait for a request in one zone while other zones are left, in seconds."""
ROUND_PAUSE_S = 120.0
"""Seconds between two rounds over the zones, plus or minus half."""
RETRIED_IN_OTHER_ZONES = ("capacity", "internal", "quota", "config")
"""Error kinds after which another zone may succeed."""
ZONE_ERROR_IDS = ("location-denied", "queue-denied", "type-denied")
"""Ids of errors that concern one zone, although other errors of their kind do not."""
ONCE = ("internal",)
"""Kinds, among these, that are retried once in the same zone."""
TO_BE_DELETED = "it was to be deleted"
FOR_LATER = ("capacity",)
"""Kinds after which the same zone may succeed later."""


class TpuCreation:
    """The creation of one TPU in the first of several zones that has capacity."""

    def __init__(self, client: ProjectClient, project: Project, clock: Clock) -> None:
        self._client = client
        self._project = project
        self._clock = clock
        self._internal_errors: dict[str, int] = {}

    def run(
        self,
        requests: Sequence[TpuRequest],
        *,
        patience_s: float = PATIENCE_S,
        wait: bool = True,
        rounds: int | None = None,
    ) -> Generator[Event, None, QueuedResource | None]:
        """Yield the events; return the queued resource once it is active.

        Args:
            requests: The same TPU in each allowed zone, in the order to try them.
            patience_s: Longest wait in one zone's queue if there are others, in seconds.
            wait: Follow the request; otherwise return None once Google has accepted the first one.
            rounds: Number of rounds over the zones; None for no limit.

        Raises:
            Problem: No zone can provide it, an earlier request of this name is for another TPU, or
                the ledger cannot be read.
        """
        ledger.require_readable_ledger()
        left = [*requests]
        last: CloudProblem | None = None
        number = 0
        while left and (rounds is None or number < rounds):
            if number:
                pause = ROUND_PAUSE_S * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                yield SendingPaused(pause, "every zone has been tried")
                self._clock.sleep(pause)
            number += 1
            for request in [*left]:
                patience = patience_s if len(left) > 1 else None
                try:
                    done, resource = yield from self._try(request, patience, wait=wait)
                except CloudProblem as error:
                    last = error
                    goes_on = self._goes_on(request, error, left)
                    yield RequestRefused(self._entry(request), error, goes_on)
                    if not goes_on:
                        raise
                    continue
                if done:
                    return resource
        if last and (not left or last.kind in FOR_LATER):
            raise last
        raise Problem(
            f"no zone had capacity in {number} rounds",
            code=ExitCode.BUSY,
            hint="try again later, or ask for a smaller slice or another zone",
        )

    def _goes_on(self, request: TpuRequest, error: CloudProblem, left: list[TpuRequest]) -> bool:
        """Return whether to try again; removes the request's zone if it cannot provide the TPU."""
        id_ = error.failure.id if error.failure else ""
        if error.kind not in RETRIED_IN_OTHER_ZONES and id_ not in ZONE_ERROR_IDS:
            return False
        errors = self._internal_errors.get(request.zone, 0) + 1
        if error.kind in ONCE:
            self._internal_errors[request.zone] = errors
        retried = error.kind in FOR_LATER or (error.kind in ONCE and errors < 2)
        if id_ == "insufficient-reserved":
            retried = False
        if not retried:
            left.remove(request)
        return bool(left)

    def _entry(self, request: TpuRequest) -> LedgerEntry:
        return LedgerEntry(
            project=self._project.name,
            zone=request.zone,
            name=request.name,
            type=request.type.name,
            chips=request.chips,
            tier=request.tier,
            asked=ledger.format_ledger_time(self._clock.now()),
            nodes=request.node_names,
            api=request.api,
        )

    def _try(
        self, request: TpuRequest, patience_s: float | None, *, wait: bool
    ) -> Generator[Event, None, tuple[bool, QueuedResource | None]]:
        """Resume an earlier request, or send this one.

        Returns True if the rounds are over, and the queued resource if it is active.
        """
        given_up: set[str] = set()
        for entry in ledger.find_ledger_entries(self._project.name, request.name):
            if not (yield from self._is_alive(entry, request)):
                continue
            yield RequestResumed(entry)
            if not wait:
                return True, None
            alone = entry.zone == request.zone and patience_s is None
            try:
                resource = yield from self._wait(entry, None if alone else patience_s or PATIENCE_S)
            except CloudProblem as error:
                if error.kind not in RETRIED_IN_OTHER_ZONES:
                    raise
                yield RequestRefused(entry, error, goes_on=True)
                continue
            if resource is not None:
                return True, resource
            given_up.add(entry.zone)
        if request.zone in given_up:
            return False, None
        entry = yield from submit_request(
            self._client.of(request.api), self._project, request, self._entry(request)
        )
        if not wait:
            return True, None
        resource = yield from self._wait(entry, patience_s)
        return resource is not None, resource

    def _is_alive(self, entry: LedgerEntry, request: TpuRequest) -> Generator[Event, None, bool]:
        """Return whether an earlier request can be resumed; removes one that is gone.

        Raises:
            CloudProblem: Google refuses access.
            Problem: It is for another TPU, or the resource of this name may belong to someone else.
        """
        resource = self._client.of(entry.api).queued_resource(entry.zone, entry.name)
        if resource is None:
            return (yield from self._may_come(entry))
        owner = ownership.find_owner(entry, resource)
        if owner == "unclear":
            raise ownership.make_unclear_owner_problem(entry, resource)
        if owner == "other":
            ledger.remove_ledger_entry(entry)
            yield RequestGone(entry)
            return False
        if entry.phase == "deleting" or resource.state in ("DELETING", "INCOMPLETE"):
            why = "it was never made whole" if resource.state == "INCOMPLETE" else TO_BE_DELETED
            yield from self._withdraw(entry, resource, why)
            return False
        ownership.require_same_tpu(entry, request)
        return True

    def _may_come(self, entry: LedgerEntry) -> Generator[Event, None, bool]:
        """Return whether an earlier request that Google does not list is still in progress."""
        why = explain_existence(self._client.of(entry.api), entry, self._clock)
        if not why:
            ledger.remove_ledger_entry(entry)
            yield RequestGone(entry)
        elif entry.phase in ("seen", "deleting"):
            yield from wait_until_gone(self._client.of(entry.api), entry, self._clock)
        elif entry.phase == "sent":
            yield RequestMayExist(entry, why)
        return bool(why) and entry.phase == "taken"

    def _wait(
        self, entry: LedgerEntry, patience_s: float | None
    ) -> Generator[Event, None, QueuedResource | None]:
        """Follow a request to its end; return the active resource, or None to try the next zone."""
        while True:
            resource = yield from follow_request(
                self._client.of(entry.api), entry, self._clock, patience_s=patience_s
            )
            if resource is None:
                yield from wait_until_gone(self._client.of(entry.api), entry, self._clock)
                raise _make_deleted_problem(entry.name)
            if resource.state == "ACTIVE":
                yield TpuReady(ledger.reread_ledger_entry(entry), resource)
                yield from self._cancel_losers(entry)
                return resource
            if resource.state in ("", *QUEUED):
                if (yield from self._withdraw(entry, resource, "it waited longer than asked for")):
                    return None
                patience_s = None  # a request being provisioned cannot be withdrawn
                continue
            yield from self._withdraw(entry, resource, f"it is {resource.state}")
            raise _loss(resource)

    def _withdraw(
        self, entry: LedgerEntry, resource: QueuedResource, why: str
    ) -> Generator[Event, None, bool]:
        """Delete a request; if Google does not accept that, return False and keep its entry."""
        entry = ledger.reread_ledger_entry(entry)
        if resource.state == "DELETING":
            yield from wait_until_gone(self._client.of(entry.api), entry, self._clock)
            return True
        client = self._client.of(entry.api)
        return (yield from withdraw_request(client, entry, resource.state, why, self._clock))

    def _cancel_losers(self, winner: LedgerEntry) -> Generator[Event, None, None]:
        """Withdraw this name's requests in other zones; any that remain stay in the ledger."""
        for entry in ledger.find_ledger_entries(winner.project, winner.name):
            if entry.zone == winner.zone:
                continue
            try:
                resource = self._client.of(entry.api).queued_resource(entry.zone, entry.name)
            except CloudProblem as error:
                yield RequestMayExist(entry, error.summary)
                continue
            if resource is None:
                yield RequestMayExist(entry, "Google has not shown it, but it may still arrive")
            elif ownership.find_owner(entry, resource) == "ours":
                yield from self._withdraw(entry, resource, "another zone was faster")
            else:
                yield RequestMayExist(entry, ownership.UNCLEAR)


def _loss(resource: QueuedResource) -> CloudProblem:
    if resource.error and any(resource.error):
        return make_cloud_problem(
            *resource.error, f"Google Cloud did not provide `{resource.name}`"
        )
    if resource.is_by_user:
        return _make_deleted_problem(resource.name)
    if resource.state == "SUSPENDED":
        what = f"`{resource.name}` was pre-empted before anybody could use it"
        return CloudProblem(None, "capacity", "", what)
    what = f"Google Cloud did not provide `{resource.name}` and gave no reason"
    return CloudProblem(None, "internal", "", what)


def _make_deleted_problem(name: str) -> CloudProblem:
    return make_cloud_problem(5, "", f"`{name}` is gone: somebody deleted it")
