"""Following one queued resource through its states, also while the network comes and goes."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from datetime import datetime

from tpustarter.cloud import ledger, ownership
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Event, Gone, Pausing, StateSeen
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.ledger import KEPT_AFTER_UNANSWERED_S, Entry
from tpustarter.cloud.resources import QueuedResource

LOOK_S = 15.0
"""Seconds between two looks, more or less by a fifth."""
SILENCE_S = 1800.0
"""Seconds without any answer, or without any sign of a request that Google has taken, after which
following ends with an error."""
LAG_S = 120.0
"""Seconds after which Google shows what an operation of its own has made."""
GONE_S = 900.0
"""Seconds for which a deletion is waited for."""
ENDS = ("ACTIVE", "FAILED", "SUSPENDED")
"""States in which nothing more happens by itself."""
QUEUED = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES")
"""States in which nothing is billed and a request can be taken back."""
PASSING = ("network", "internal")
"""Kinds of errors after which a look is repeated."""


def _is_end(state: str) -> bool:
    return state in ENDS


def follow(
    client: Client,
    entry: Entry,
    clock: Clock,
    *,
    patience_s: float | None = None,
    until: Callable[[str], bool] = _is_end,
) -> Generator[Event, None, QueuedResource | None]:
    """Yield each state of a queued resource; return it at its end, or null once it is gone.

    Args:
        client: Of the entry's project.
        entry: What is followed.
        clock: Lets the time pass between two looks.
        patience_s: Seconds in the queue after which it is returned as it is; null for no limit.
        until: Says of a state whether following ends with it.

    Raises:
        CloudProblem: Google refuses to show it, has not answered for `SILENCE_S`, or could not
            carry the request out.
    """
    started, answered, last = clock.now(), clock.now(), ""
    while True:
        try:
            resource = _look(client, entry, clock, is_new=not last)
        except _NeverMadeError as failed:
            ledger.remove(entry)
            yield Gone(entry)
            raise failed.problem from None
        except CloudProblem as problem:
            if problem.kind not in PASSING or _seconds(answered, clock) > SILENCE_S:
                raise
            yield Pausing(LOOK_S, problem.what.partition("\n")[0])
        else:
            answered = clock.now()
            waited_s = (answered - started).total_seconds()
            if resource is None:
                return None
            if resource.state != last:
                last = resource.state
                entry = _note(entry, resource)
                yield StateSeen(entry, resource, answered)
            is_impatient = patience_s is not None and waited_s >= patience_s
            if until(resource.state) or (is_impatient and resource.state in ("", *QUEUED)):
                return resource
            if not last and waited_s > SILENCE_S:
                raise _never_shown(entry)
            if not last and waited_s < LOOK_S / 2:  # the first look
                yield Pausing(LOOK_S, "Google has not shown it yet, and is asked again and again")
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret


def _seconds(since: datetime, clock: Clock) -> float:
    return (clock.now() - since).total_seconds()


class _NeverMadeError(Exception):
    """The operation that was to make a resource has failed."""

    def __init__(self, problem: CloudProblem) -> None:
        super().__init__(problem.what)
        self.problem = problem


def _look(client: Client, entry: Entry, clock: Clock, *, is_new: bool) -> QueuedResource | None:
    """Return the queued resource of an entry; null where its name is free or somebody else's.

    One that is still being made, and was never seen, has no state.
    """
    resource = client.queued_resource(entry.zone, entry.name)
    if resource is not None:
        return None if ownership.whose(entry, resource) == "other" else resource
    if not (is_new and _may_come(client, entry, clock)):
        return None
    return QueuedResource(entry.project, entry.zone, entry.name, state="")


def _may_come(client: Client, entry: Entry, clock: Clock) -> bool:
    """Return whether what was never seen is still being made."""
    if entry.created:
        return False
    age_s = (clock.now() - entry.asked_at).total_seconds()
    if not entry.operation:
        return age_s < KEPT_AFTER_UNANSWERED_S
    ending = client.operation(entry.operation)
    if ending.problem:
        raise _NeverMadeError(ending.problem)
    return not ending.done or age_s < LAG_S


def _note(entry: Entry, resource: QueuedResource) -> Entry:
    """Write to the ledger that a resource was seen, once; returns the entry."""
    if entry.phase == "deleting" or (entry.phase == "seen" and entry.created):
        return entry
    return ledger.update(entry, "seen", created=ownership.created(resource))


def _never_shown(entry: Entry) -> CloudProblem:
    minutes = round(SILENCE_S / 60)
    what = f"Google took the request for `{entry.name}`, but has not shown it for {minutes} minutes"
    return CloudProblem(None, "state", "", what)


def until_gone(client: Client, entry: Entry, clock: Clock, *, limit_s: float = GONE_S) -> bool:
    """Wait until Google shows neither a queued resource nor its nodes; false after the limit.

    Raises:
        CloudProblem: Google refuses to show them.
    """
    started = clock.now()
    while (clock.now() - started).total_seconds() < limit_s:
        try:
            if is_gone(client, entry):
                return True
        except CloudProblem as problem:
            if problem.kind not in PASSING:
                raise
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret
    return False


def is_gone(client: Client, entry: Entry) -> bool:
    """Return whether Google shows neither the queued resource of an entry nor any of its nodes.

    One that is still to be made has not gone. Where somebody else has the name, ours has gone.
    """
    resource = client.queued_resource(entry.zone, entry.name)
    if resource is not None:
        return ownership.whose(entry, resource) == "other"
    if not entry.created and entry.operation and not client.operation(entry.operation).done:
        return False
    nodes = (client.node(entry.zone, name) for name in entry.nodes)
    return all(node is None or node.queued_resource not in ("", entry.name) for node in nodes)
