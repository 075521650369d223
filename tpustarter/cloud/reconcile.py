"""The ledger against what Google lists: what was seen to be gone is dropped, all else stays.

A listing may lag behind and a zone may not answer, so an entry goes only once Google says of the
resource itself and of each of its nodes that there is none.
"""

from __future__ import annotations

from collections.abc import Generator

from tpustarter.cloud import ledger, ownership
from tpustarter.cloud.client import Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Event, Gone, Kept, StateSeen
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.follow import is_gone
from tpustarter.cloud.ledger import KEPT_AFTER_UNANSWERED_S, Entry
from tpustarter.cloud.resources import Listing, Node, QueuedResource

_NOT_SHOWN = "Google has not shown it yet"


def reconcile(
    client: Client,
    clock: Clock,
    *,
    queued_resources: Listing[QueuedResource] | None = None,
    nodes: Listing[Node] | None = None,
) -> Generator[Event, None, list[Entry]]:
    """Yield what became of each entry of a project; return those that stay.

    Nothing is sent where the ledger has no entry of the project. Nothing is deleted at Google's.

    Args:
        client: Of the project.
        clock: Tells how old an entry is.
        queued_resources: Those of all zones, if the caller has them.
        nodes: Likewise.

    Raises:
        CloudProblem: Google did not list what exists; then nothing has changed.
    """
    mine = [entry for entry in ledger.entries() if entry.project == client.project]
    if not mine:
        return []
    queued_resources = queued_resources or client.queued_resources()
    nodes = nodes or client.nodes()
    listed = {(row.zone, row.name): row for row in queued_resources.items}
    node_places = {(row.zone, row.name) for row in nodes.items}
    silent = {*queued_resources.unreachable, *nodes.unreachable}
    stay: list[Entry] = []
    for entry in mine:
        resource = listed.get((entry.zone, entry.name))
        if resource is not None:
            kept = yield from _seen(entry, resource, clock)
        elif any((entry.zone, name) in node_places for name in entry.nodes):
            yield Kept(entry, "its nodes still exist")
            kept = entry
        elif entry.zone in silent:
            yield Kept(entry, f"Google could not reach `{entry.zone}`")
            kept = entry
        else:
            kept = yield from _unseen(client, entry, clock)
        stay += [kept] if kept else []
    return stay


def _seen(
    entry: Entry, resource: QueuedResource, clock: Clock
) -> Generator[Event, None, Entry | None]:
    """Return the entry of what is listed under its name; null if that is somebody else's."""
    owner = ownership.whose(entry, resource)
    if owner == "other":
        ledger.remove(entry)
        yield Gone(entry)
        return None
    if owner == "unclear":
        yield Kept(entry, ownership.UNCLEAR)
        return entry
    phase = "deleting" if entry.phase == "deleting" else "seen"
    if entry.phase != phase or entry.note or not entry.created:
        entry = ledger.update(entry, phase, created=ownership.created(resource))
    yield StateSeen(entry, resource, clock.now())
    return entry


def _unseen(client: Client, entry: Entry, clock: Clock) -> Generator[Event, None, Entry | None]:
    """Return the entry of what is not listed; null once it is sure that it does not exist."""
    try:
        why = why_it_may_exist(client, entry, clock)
    except CloudProblem as problem:
        why = problem.what.partition("\n")[0]
    if why:
        yield Kept(entry, why)
        return entry
    ledger.remove(entry)
    yield Gone(entry)
    return None


def why_it_may_exist(client: Client, entry: Entry, clock: Clock) -> str:
    """Return why something that is not shown may exist all the same; empty if it does not.

    Raises:
        CloudProblem: Google does not answer.
    """
    if not is_gone(client, entry):
        return "Google does not list it, but it still exists or is being made"
    if entry.phase in ("seen", "deleting"):
        return ""
    if (clock.now() - entry.asked_at).total_seconds() < KEPT_AFTER_UNANSWERED_S:
        unanswered = "Google has not answered the request, which may still arrive"
        return _NOT_SHOWN if entry.phase == "taken" else unanswered
    return ""
