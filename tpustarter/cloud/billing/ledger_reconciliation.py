"""Reconciliation of the ledger with Google's list: entries of deleted resources are removed.

A listing may lag behind, and a zone may not respond. Therefore an entry is removed only once Google
reports that the resource itself and each of its nodes do not exist.
"""

from __future__ import annotations

from collections.abc import Generator

from tpustarter.cloud.api.api_client import ApiClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import KEPT_AFTER_UNANSWERED_S, LedgerEntry
from tpustarter.cloud.create.events import Event, RequestGone, RequestMayExist, RequestStateChanged
from tpustarter.cloud.create.follow_request import is_gone
from tpustarter.cloud.delete import ownership

_NOT_SHOWN = "Google has not shown it yet"


def reconcile_ledger(
    client: ApiClient,
    clock: Clock,
    *,
    queued_resources: ResourceList[QueuedResource] | None = None,
    nodes: ResourceList[TpuNode] | None = None,
) -> Generator[Event, None, list[LedgerEntry]]:
    """Compare each ledger entry for a project and API with Google's list; return those that stay.

    Yields the outcomes. If the ledger has no entry for the project, nothing is sent. No resource is
    deleted.

    Args:
        client: The project's client for one API.
        clock: Provides the current time, for an entry's age.
        queued_resources: Those in all zones, if the caller has them.
        nodes: Those in all zones, if the caller has them.

    Raises:
        CloudProblem: Google did not list the resources; nothing has changed then.
    """
    mine = [
        entry
        for entry in ledger.read_ledger()
        if (entry.project, entry.api) == (client.project, client.api)
    ]
    if not mine:
        return []
    queued_resources = queued_resources or client.queued_resources()
    nodes = nodes or client.nodes()
    listed = {(row.zone, row.name): row for row in queued_resources.items if row.api == client.api}
    node_places = {(row.zone, row.name) for row in nodes.items if row.api == client.api}
    silent = {*queued_resources.unreachable, *nodes.unreachable}
    stay: list[LedgerEntry] = []
    for entry in mine:
        resource = listed.get((entry.zone, entry.name))
        if resource is not None:
            kept = yield from _seen(entry, resource, clock)
        elif any((entry.zone, name) in node_places for name in entry.nodes):
            yield RequestMayExist(entry, "its nodes still exist")
            kept = entry
        elif entry.zone in silent:
            yield RequestMayExist(entry, f"Google could not reach `{entry.zone}`")
            kept = entry
        else:
            kept = yield from _unseen(client, entry, clock)
        stay += [kept] if kept else []
    return stay


def _seen(
    entry: LedgerEntry, resource: QueuedResource, clock: Clock
) -> Generator[Event, None, LedgerEntry | None]:
    """Return the entry of a listed resource, or None if the resource is someone else's."""
    owner = ownership.find_owner(entry, resource)
    if owner == "other":
        ledger.remove_ledger_entry(entry)
        yield RequestGone(entry)
        return None
    if owner == "unclear":
        yield RequestMayExist(entry, ownership.UNCLEAR)
        return entry
    phase = "deleting" if entry.phase == "deleting" else "seen"
    if entry.phase != phase or entry.note or not entry.created:
        entry = ledger.update_ledger_entry(
            entry, phase, created=ownership.format_creation_time(resource)
        )
    yield RequestStateChanged(entry, resource, clock.now())
    return entry


def _unseen(
    client: ApiClient, entry: LedgerEntry, clock: Clock
) -> Generator[Event, None, LedgerEntry | None]:
    """Return the entry of an unlisted resource, or None once the resource is confirmed gone."""
    try:
        why = explain_existence(client, entry, clock)
    except CloudProblem as problem:
        why = problem.summary
    if why:
        yield RequestMayExist(entry, why)
        return entry
    ledger.remove_ledger_entry(entry)
    yield RequestGone(entry)
    return None


def explain_existence(client: ApiClient, entry: LedgerEntry, clock: Clock) -> str:
    """Return the reason to believe that an unlisted resource exists, or "" if there is none.

    Raises:
        CloudProblem: Google does not respond.
    """
    if not is_gone(client, entry):
        return "Google does not list it, but it still exists or is being made"
    if entry.phase in ("seen", "deleting"):
        return ""
    if (clock.now() - entry.request_time).total_seconds() < KEPT_AFTER_UNANSWERED_S:
        unanswered = "Google has not answered the request, which may still arrive"
        return _NOT_SHOWN if entry.phase == "taken" else unanswered
    return ""
