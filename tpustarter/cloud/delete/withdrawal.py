"""The withdrawal of one queued resource, and the wait until nothing of it is left.

Where the answer to a deletion is lost, the resource is read: the deletion counts as accepted once
Google says so.
"""

from __future__ import annotations

from collections.abc import Generator

from tpustarter.cloud.api.api_client import UNANSWERED, ApiClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.create.events import Event, RequestGone, RequestMayExist, RequestWithdrawn
from tpustarter.cloud.create.follow_request import wait_for_removal

UNFORCED = ("ACCEPTED", "WAITING_FOR_RESOURCES")
"""States in which a queued resource has no nodes, so that its deletion needs no `force`."""
STILL_LISTED = "Google has taken the deletion but still lists it"


def withdraw_request(
    client: ApiClient, entry: LedgerEntry, state: str, why: str, clock: Clock
) -> Generator[Event, None, bool]:
    """Delete the queued resource of an entry, and return whether Google has accepted that.

    The entry stays in the ledger unless all of it was seen to be gone.

    Args:
        client: The client of the entry's project.
        entry: The entry of the resource.
        state: The state in which it was last seen.
        why: The reason, for the user.
        clock: Waits until it is gone.
    """
    yield RequestWithdrawn(entry, why)
    try:
        request_deletion(client, entry, force=state not in UNFORCED)
    except CloudProblem as problem:
        yield RequestMayExist(entry, problem.summary)
        return False
    yield from wait_until_gone(client, entry, clock)
    return True


def request_deletion(client: ApiClient, entry: LedgerEntry, *, force: bool) -> None:
    """Request the deletion of a queued resource, unless it is gone or being deleted already.

    Raises:
        CloudProblem: Google refused, or nobody knows whether it accepted the deletion.
    """
    try:
        client.delete_queued_resource(entry.zone, entry.name, force=force)
    except CloudProblem as problem:
        if problem.kind != "missing" and not _is_going(client, entry, problem):
            raise


def _is_going(client: ApiClient, entry: LedgerEntry, problem: CloudProblem) -> bool:
    """Return whether a deletion that failed in this way was carried out all the same."""
    if problem.kind not in (*UNANSWERED, "state"):
        return False
    try:
        resource = client.queued_resource(entry.zone, entry.name)
    except CloudProblem:
        return False
    return resource is None or resource.state == "DELETING"


def wait_until_gone(
    client: ApiClient, entry: LedgerEntry, clock: Clock
) -> Generator[Event, None, bool]:
    """Wait for the end of an accepted deletion; returns whether nothing is left."""
    entry = ledger.update_ledger_entry(entry, "deleting")
    try:
        is_gone = wait_for_removal(client, entry, clock)
    except CloudProblem as problem:
        yield RequestMayExist(entry, problem.summary)
        return False
    if not is_gone:
        yield RequestMayExist(entry, STILL_LISTED)
        return False
    ledger.remove_ledger_entry(entry)
    yield RequestGone(entry)
    return True
