"""Taking one queued resource back, and waiting until nothing of it is left.

A deletion whose answer was lost is looked after: it counts as taken once Google says so.
"""

from __future__ import annotations

from collections.abc import Generator

from tpustarter.cloud import ledger
from tpustarter.cloud.client import UNANSWERED, Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Cancelling, Event, Gone, Kept
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.follow import until_gone
from tpustarter.cloud.ledger import Entry

UNFORCED = ("ACCEPTED", "WAITING_FOR_RESOURCES")
"""States in which a queued resource has no nodes, so that its deletion needs no `force`."""
STILL_LISTED = "Google has taken the deletion but still lists it"


def withdraw(
    client: Client, entry: Entry, state: str, why: str, clock: Clock
) -> Generator[Event, None, bool]:
    """Delete what an entry asked for; returns whether Google has taken the deletion.

    The entry stays in the ledger unless all of it was seen to be gone.

    Args:
        client: Of the entry's project.
        entry: What is deleted.
        state: That it was last seen in.
        why: For the person who looks on.
        clock: Lets the time pass until it is gone.
    """
    yield Cancelling(entry, why)
    try:
        send(client, entry, force=state not in UNFORCED)
    except CloudProblem as problem:
        yield Kept(entry, problem.what.partition("\n")[0])
        return False
    yield from wait_until_gone(client, entry, clock)
    return True


def send(client: Client, entry: Entry, *, force: bool) -> None:
    """Ask for the deletion of a queued resource; one that is gone or going already is fine.

    Raises:
        CloudProblem: Google refused, or nobody knows whether it took the deletion.
    """
    try:
        client.delete_queued_resource(entry.zone, entry.name, force=force)
    except CloudProblem as problem:
        if problem.kind != "missing" and not _is_going(client, entry, problem):
            raise


def _is_going(client: Client, entry: Entry, problem: CloudProblem) -> bool:
    """Return whether a deletion that failed in this way was carried out all the same."""
    if problem.kind not in (*UNANSWERED, "state"):
        return False
    try:
        resource = client.queued_resource(entry.zone, entry.name)
    except CloudProblem:
        return False
    return resource is None or resource.state == "DELETING"


def wait_until_gone(client: Client, entry: Entry, clock: Clock) -> Generator[Event, None, bool]:
    """Wait for the end of a deletion that Google has taken; returns whether nothing is left."""
    entry = ledger.update(entry, "deleting")
    try:
        is_gone = until_gone(client, entry, clock)
    except CloudProblem as problem:
        yield Kept(entry, problem.what.partition("\n")[0])
        return False
    if not is_gone:
        yield Kept(entry, STILL_LISTED)
        return False
    ledger.remove(entry)
    yield Gone(entry)
    return True
