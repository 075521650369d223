"""Asking for a TPU, over one zone or several, with one request alive at a time.

A request that waits longer than the user's patience is taken back before the next zone is asked, so
that never two TPUs are billed. What cannot be taken back stays in the ledger. A request of ours
that a crash has left under the same name is gone on with; what somebody else made is left alone.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence

from tpustarter.cloud import ledger, ownership
from tpustarter.cloud.asking import ask
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Event, Gone, Kept, Pausing, Ready, Refused, Resumed
from tpustarter.cloud.failures import CloudProblem, problem
from tpustarter.cloud.follow import QUEUED, follow
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.places import Project
from tpustarter.cloud.reconcile import why_it_may_exist
from tpustarter.cloud.request import Request
from tpustarter.cloud.resources import QueuedResource
from tpustarter.cloud.withdrawal import wait_until_gone, withdraw
from tpustarter.problem import ExitCode, Problem

PATIENCE_S = 900.0
"""Seconds for which a request may wait in one zone, while there are others to try."""
ROUND_PAUSE_S = 120.0
"""Seconds between two rounds over the zones, more or less by half."""
ELSEWHERE = ("capacity", "internal", "quota", "config")
"""Kinds of errors that another zone may not have."""
ONE_ZONE = ("location-denied", "queue-denied", "type-denied")
"""Errors by their id that speak of one zone, although another one of their kind may not."""
ONCE = ("internal",)
"""Of these, kinds that are tried once more in the same zone."""
FOR_LATER = ("capacity",)
"""Kinds that the same zone may not have later."""


class Creation:
    """One TPU that is wanted, in the first of some zones that has it."""

    def __init__(self, client: Client, project: Project, clock: Clock) -> None:
        self._client = client
        self._project = project
        self._clock = clock
        self._internal_errors: dict[str, int] = {}

    def run(
        self,
        requests: Sequence[Request],
        *,
        patience_s: float = PATIENCE_S,
        wait: bool = True,
        rounds: int | None = None,
    ) -> Generator[Event, None, QueuedResource | None]:
        """Yield what happens; return the queued resource once it is active.

        Args:
            requests: The same TPU in each zone allowed, in the order to be tried.
            patience_s: Seconds in the queue of one zone, if there are others.
            wait: Follow the request; else return null once Google has taken the first one.
            rounds: How often to go over the zones; null for no limit.

        Raises:
            Problem: no zone is left that can have it, or an earlier request of ours under the same
                name is for something else.
        """
        left = [*requests]
        last: CloudProblem | None = None
        number = 0
        while left and (rounds is None or number < rounds):
            if number:
                pause = ROUND_PAUSE_S * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                yield Pausing(pause, "every zone has been tried")
                self._clock.sleep(pause)
            number += 1
            for request in [*left]:
                patience = patience_s if len(left) > 1 else None
                try:
                    done, resource = yield from self._try(request, patience, wait=wait)
                except CloudProblem as error:
                    last = error
                    goes_on = self._goes_on(request, error, left)
                    yield Refused(self._entry(request), error, goes_on)
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

    def _goes_on(self, request: Request, error: CloudProblem, left: list[Request]) -> bool:
        """Return whether another attempt makes sense; takes zones that cannot have it off."""
        id_ = error.failure.id if error.failure else ""
        if error.kind not in ELSEWHERE and id_ not in ONE_ZONE:
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

    def _entry(self, request: Request) -> Entry:
        return Entry(
            project=self._project.name,
            zone=request.zone,
            name=request.name,
            type=request.type.name,
            chips=request.chips,
            tier=request.tier,
            asked=ledger.stamp(self._clock.now()),
            nodes=request.node_names,
        )

    def _try(
        self, request: Request, patience_s: float | None, *, wait: bool
    ) -> Generator[Event, None, tuple[bool, QueuedResource | None]]:
        """Go on with what an earlier request has left, else send this one.

        Returns whether that ended the walk, and the queued resource if it is active.
        """
        given_up: set[str] = set()
        for entry in ledger.of_name(self._project.name, request.name):
            if not (yield from self._is_alive(entry, request)):
                continue
            yield Resumed(entry)
            if not wait:
                return True, None
            alone = entry.zone == request.zone and patience_s is None
            try:
                resource = yield from self._wait(entry, None if alone else patience_s or PATIENCE_S)
            except CloudProblem as error:
                if error.kind not in ELSEWHERE:
                    raise
                yield Refused(entry, error, goes_on=True)
                continue
            if resource is not None:
                return True, resource
            given_up.add(entry.zone)
        if request.zone in given_up:
            return False, None
        entry = yield from ask(self._client, self._project, request, self._entry(request))
        if not wait:
            return True, None
        resource = yield from self._wait(entry, patience_s)
        return resource is not None, resource

    def _is_alive(self, entry: Entry, request: Request) -> Generator[Event, None, bool]:
        """Return whether an earlier request can be gone on with; forgets one that is gone.

        Raises:
            CloudProblem: it cannot be seen.
            Problem: it is for another TPU, or what has its name may be somebody else's.
        """
        resource = self._client.queued_resource(entry.zone, entry.name)
        if resource is None:
            return (yield from self._may_come(entry))
        owner = ownership.whose(entry, resource)
        if owner == "unclear":
            raise ownership.unclear(entry, resource)
        if owner == "other":
            ledger.remove(entry)
            yield Gone(entry)
            return False
        if entry.phase == "deleting" or resource.state == "DELETING":
            yield from self._take_back(entry, resource, "it was to be deleted")
            return False
        ownership.check_same(entry, request)
        return True

    def _may_come(self, entry: Entry) -> Generator[Event, None, bool]:
        """Return whether an earlier request that is not shown is being made."""
        why = why_it_may_exist(self._client, entry, self._clock)
        if not why:
            ledger.remove(entry)
            yield Gone(entry)
        elif entry.phase in ("seen", "deleting"):
            yield from wait_until_gone(self._client, entry, self._clock)
        elif entry.phase == "sent":
            yield Kept(entry, why)
        return bool(why) and entry.phase == "taken"

    def _wait(
        self, entry: Entry, patience_s: float | None
    ) -> Generator[Event, None, QueuedResource | None]:
        """Follow a request to its end; returns it if it is active, null if the next zone is due."""
        while True:
            resource = yield from follow(self._client, entry, self._clock, patience_s=patience_s)
            if resource is None:
                yield from wait_until_gone(self._client, entry, self._clock)
                raise problem(5, "", f"`{entry.name}` is gone: somebody deleted it")
            if resource.state == "ACTIVE":
                yield Ready(ledger.current(entry), resource)
                yield from self._cancel_losers(entry)
                return resource
            if resource.state in ("", *QUEUED):
                if (yield from self._take_back(entry, resource, "it waited longer than asked for")):
                    return None
                patience_s = None  # it is being provisioned, which can only be waited for
                continue
            yield from self._take_back(entry, resource, f"it is {resource.state}")
            raise _loss(resource)

    def _take_back(
        self, entry: Entry, resource: QueuedResource, why: str
    ) -> Generator[Event, None, bool]:
        """Delete a request; false if Google has not taken that, and then it stays in the ledger."""
        entry = ledger.current(entry)
        if resource.state == "DELETING":
            yield from wait_until_gone(self._client, entry, self._clock)
            return True
        return (yield from withdraw(self._client, entry, resource.state, why, self._clock))

    def _cancel_losers(self, winner: Entry) -> Generator[Event, None, None]:
        """Take back what other zones still have of this name; the rest stays in the ledger."""
        for entry in ledger.of_name(winner.project, winner.name):
            if entry.zone == winner.zone:
                continue
            try:
                resource = self._client.queued_resource(entry.zone, entry.name)
            except CloudProblem as error:
                yield Kept(entry, error.what.partition("\n")[0])
                continue
            if resource is None:
                yield Kept(entry, "Google has not shown it, but it may still arrive")
            elif ownership.whose(entry, resource) == "ours":
                yield from self._take_back(entry, resource, "another zone was faster")
            else:
                yield Kept(entry, ownership.UNCLEAR)


def _loss(resource: QueuedResource) -> CloudProblem:
    """Return why a queued resource never became a TPU."""
    if resource.error and any(resource.error):
        return problem(*resource.error, f"Google Cloud did not provide `{resource.name}`")
    if resource.state == "SUSPENDED":
        what = f"`{resource.name}` was pre-empted before anybody could use it"
        return CloudProblem(None, "capacity", "", what)
    what = f"Google Cloud did not provide `{resource.name}` and gave no reason"
    return CloudProblem(None, "internal", "", what)
