"""Following one queued resource through its states, also while the network comes and goes."""

from __future__ import annotations

import random
from collections.abc import Generator

from tpustarter.cloud import ledger
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Event, Pausing, StateSeen
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.resources import QueuedResource

LOOK_S = 15.0
"""Seconds between two looks, more or less by a fifth."""
SILENCE_S = 1800.0
"""Seconds without any answer after which following ends with an error."""
ENDS = ("ACTIVE", "FAILED", "SUSPENDED")
"""States in which nothing more happens by itself."""
QUEUED = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES")
"""States in which nothing is billed and a request can be taken back."""


def follow(
    client: Client, entry: Entry, clock: Clock, *, patience_s: float | None = None
) -> Generator[Event, None, QueuedResource | None]:
    """Yield each state of a queued resource; return it at its end, or null once it is gone.

    Args:
        client: Of the entry's project.
        entry: What is followed.
        clock: Lets the time pass between two looks.
        patience_s: Seconds in the queue after which it is returned as it is; null for no limit.

    Raises:
        CloudProblem: Google refuses to show it, or has not answered for `SILENCE_S`.
    """
    started = answered = clock.now()
    last = ""
    while True:
        try:
            resource = client.queued_resource(entry.zone, entry.name)
        except CloudProblem as problem:
            silent_s = (clock.now() - answered).total_seconds()
            if problem.kind not in ("network", "internal") or silent_s > SILENCE_S:
                raise
            yield Pausing(LOOK_S, problem.what.partition("\n")[0])
        else:
            answered = clock.now()
            if resource is None and _may_come(client, entry, last):
                clock.sleep(LOOK_S)
                continue
            if resource is None:
                return None
            if resource.state != last:
                last = resource.state
                yield StateSeen(entry, resource, answered)
                if entry.phase in ("sent", "taken"):
                    entry = ledger.update(entry, "seen")
            if resource.state in ENDS:
                return resource
            waited_s = (answered - started).total_seconds()
            if patience_s is not None and waited_s >= patience_s and resource.state in QUEUED:
                return resource
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret


def _may_come(client: Client, entry: Entry, last: str) -> bool:
    """Return whether what was never seen is still being made; raises CloudProblem if it failed."""
    return not last and bool(entry.operation) and not client.is_done(entry.operation)


def until_gone(client: Client, entry: Entry, clock: Clock, *, limit_s: float = 900.0) -> bool:
    """Wait until Google lists neither a queued resource nor its nodes; false after the limit."""
    started = clock.now()
    while (clock.now() - started).total_seconds() < limit_s:
        if is_gone(client, entry):
            return True
        clock.sleep(LOOK_S * random.uniform(0.8, 1.2))  # noqa: S311  no secret
    return False


def is_gone(client: Client, entry: Entry) -> bool:
    """Return whether Google shows neither the queued resource of an entry nor any of its nodes."""
    if client.queued_resource(entry.zone, entry.name) is not None:
        return False
    return all(client.node(entry.zone, name) is None for name in entry.nodes)
