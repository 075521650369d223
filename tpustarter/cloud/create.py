"""Asking for a TPU, over one zone or several, with at most one request alive at any time.

A request that waits longer than the user's patience is taken back before the next zone is asked, so
that never two TPUs are billed. What cannot be taken back stays in the ledger.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence

from tpustarter.cloud import failures, gcloud, ledger
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Asked, Cancelling, Event, Gone, Kept, Pausing, Ready, Refused
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.follow import QUEUED, follow, until_gone
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.places import Project
from tpustarter.cloud.request import Request
from tpustarter.cloud.resources import QueuedResource
from tpustarter.problem import ExitCode, Problem

PATIENCE_S = 900.0
"""Seconds for which a request may wait in one zone, while there are others to try."""
ROUND_PAUSE_S = 120.0
"""Seconds between two rounds over the zones, more or less by half."""
UNANSWERED = ("network", "internal", "unknown")
"""Kinds of errors after which nobody knows whether a request was carried out."""
ELSEWHERE = ("capacity", "internal", "quota", "config")
"""Kinds of errors that another zone may not have."""
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
            Problem: no zone is left that can have it.
        """
        left = [*requests]
        last: CloudProblem | None = None
        number = 0
        while left and (rounds is None or number < rounds):
            number += 1
            for request in [*left]:
                try:
                    entry = yield from self._ask(request)
                    if not wait:
                        return None
                    alone = len(left) == 1
                    resource = yield from self._wait(entry, None if alone else patience_s)
                except CloudProblem as problem:
                    last = problem
                    goes_on = self._goes_on(request, problem, left)
                    yield Refused(_entry(request, self._project, self._clock), problem, goes_on)
                    if not goes_on:
                        raise
                    continue
                if resource is not None:
                    return resource
            if left:
                pause = ROUND_PAUSE_S * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                yield Pausing(pause, "every zone has been tried")
                self._clock.sleep(pause)
        raise last or Problem(
            f"no zone had capacity in {number} rounds", code=ExitCode.BUSY,
            hint="try later, a smaller slice, or another zone",
        )  # fmt: skip

    def _goes_on(self, request: Request, problem: CloudProblem, left: list[Request]) -> bool:
        """Return whether another attempt makes sense; takes zones that cannot have it off."""
        if problem.kind not in ELSEWHERE:
            return False
        errors = self._internal_errors.get(request.zone, 0) + 1
        if problem.kind in ONCE:
            self._internal_errors[request.zone] = errors
        retried = problem.kind in FOR_LATER or (problem.kind in ONCE and errors < 2)
        if problem.failure and problem.failure.id == "reserved-capacity":
            retried = False
        if not retried:
            left.remove(request)
        return bool(left)

    def _ask(self, request: Request) -> Generator[Event, None, Entry]:
        """Send a request, with its entry in the ledger first; returns the entry."""
        entry = _entry(request, self._project, self._clock)
        mine_before = any(row.key == entry.key for row in ledger.entries())
        ledger.add(entry)
        operation = ""
        try:
            operation = self._client.create(request)
        except CloudProblem as problem:
            if problem.kind in UNANSWERED:
                entry = yield from self._find_unanswered(entry, problem)
            elif problem.kind == "name" and mine_before:
                pass  # an earlier request of ours, whose answer never came
            else:
                if not mine_before:
                    ledger.remove(entry)
                raise
        entry = ledger.update(entry, "taken", operation=operation)
        yield Asked(entry, gcloud.create(request, self._project))
        return entry

    def _find_unanswered(
        self, entry: Entry, problem: CloudProblem
    ) -> Generator[Event, None, Entry]:
        """Return the entry if its request arrived after all; else keep it, and raise."""
        why = "the connection was lost before Google answered, so the request may have arrived"
        entry = ledger.update(entry, "sent", why)
        try:
            if self._client.queued_resource(entry.zone, entry.name) is not None:
                return entry
        except CloudProblem:
            pass  # what is not seen stays in the ledger
        yield Kept(entry, why)
        raise problem

    def _wait(
        self, entry: Entry, patience_s: float | None
    ) -> Generator[Event, None, QueuedResource | None]:
        """Follow a request to its end; returns it if it is active, null if the next zone is due."""
        while True:
            resource = yield from follow(self._client, entry, self._clock, patience_s=patience_s)
            if resource is None:
                ledger.remove(entry)
                yield Gone(entry)
                raise failures.problem(5, "", f"`{entry.name}` is gone: somebody deleted it")
            if resource.state == "ACTIVE":
                yield Ready(entry, resource)
                return resource
            if resource.state in QUEUED:
                if (yield from self._take_back(entry, "it waited longer than asked for")):
                    return None
                patience_s = None  # it is being provisioned, which can only be waited for
                continue
            yield from self._take_back(entry, f"it is {resource.state}")
            code, text = resource.error or (8, "There is no more capacity in the zone")
            raise failures.problem(code, text, f"Google Cloud did not provide `{entry.name}`")

    def _take_back(self, entry: Entry, why: str) -> Generator[Event, None, bool]:
        """Delete a request; false if it is still there, and then it stays in the ledger."""
        yield Cancelling(entry, why)
        try:
            self._client.delete_queued_resource(
                entry.zone, entry.name, force=why.startswith("it is")
            )
        except CloudProblem as problem:
            if problem.kind != "missing":
                yield Kept(entry, problem.what.partition("\n")[0])
                return False
        entry = ledger.update(entry, "deleting")
        if until_gone(self._client, entry, self._clock):
            ledger.remove(entry)
            yield Gone(entry)
            return True
        yield Kept(entry, "Google has taken the deletion but still lists it")
        return False


def _entry(request: Request, project: Project, clock: Clock) -> Entry:
    return Entry(
        project=project.name,
        zone=request.zone,
        name=request.name,
        type=request.type.name,
        chips=request.chips,
        tier=request.tier,
        asked=ledger.stamp(clock.now()),
        nodes=request.node_names,
    )
