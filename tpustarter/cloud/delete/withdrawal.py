"""Withdrawal of one queued resource, and the wait until it is completely gone.

If the response to a deletion is lost, the resource is read, and the deletion counts as accepted if
the resource is gone or being deleted.
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
"""States in which a queued resource has no nodes, and can be deleted without `force`."""
STILL_LISTED = "Google has taken the deletion but still lists it"


def withdraw_request(
    client: ApiClient, entry: LedgerEntry, state: str, why: str, clock: Clock
) -> Generator[Event, None, bool]:
    """Delete an entry's queued resource, and return whether Google accepted the deletion.

    The entry stays in the ledger until everything is confirmed gone.

    Args:
        client: The client for the entry's API.
        entry: The resource's entry.
        state: The resource's last known state.
        why: The reason, for the user.
        clock: Sleeps until it is gone.
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
    """Start deleting a queued resource, unless it is gone or being deleted already.

    Raises:
        CloudProblem: Google refused, or it is unknown whether the deletion was accepted.
    """
    try:
        client.delete_queued_resource(entry.zone, entry.name, force=force)
    except CloudProblem as problem:
        if problem.kind != "missing" and not _is_going(client, entry, problem):
            raise


def _is_going(client: ApiClient, entry: LedgerEntry, problem: CloudProblem) -> bool:
    """Return whether a deletion that failed with this problem was carried out after all."""
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
    """Wait for an accepted deletion to finish; returns whether nothing is left."""
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
