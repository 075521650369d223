"""Deleting TPUs: what belongs together is shown first, and an entry goes once Google lists nothing.

A queued resource that is ACTIVE goes with its nodes, by force; one in PROVISIONING can only be
waited for; nodes without a queued resource are deleted by themselves.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from tpustarter.cloud import gcloud, ledger, ownership, states
from tpustarter.cloud.client import UNANSWERED, Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Cancelling, Event, Kept
from tpustarter.cloud.failures import CloudProblem
from tpustarter.cloud.follow import follow
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.places import Project
from tpustarter.cloud.resources import Node, QueuedResource
from tpustarter.cloud.withdrawal import STILL_LISTED, UNFORCED, send, wait_until_gone
from tpustarter.machine import tpus
from tpustarter.problem import ExitCode, Problem

UNDELETABLE = ("PROVISIONING", "CREATING", "SUSPENDING")
"""States of a queued resource in which Google refuses to delete it."""
ATTEMPTS = 3
"""How often a deletion is sent where its queued resource gets into another state meanwhile."""


@dataclass(frozen=True)
class Doomed:
    """What one deletion takes away."""

    zone: str
    name: str
    queued_resource: QueuedResource | None
    nodes: tuple[Node, ...]

    @property
    def must_wait(self) -> bool:
        """Return whether Google cannot delete it yet."""
        return self.queued_resource is not None and self.queued_resource.state in UNDELETABLE

    def commands(self, project: Project) -> list[tuple[str, ...]]:
        """Return the gcloud commands that do the same, in order."""
        if self.queued_resource is not None:
            forced = self.queued_resource.state not in UNFORCED
            return [gcloud.delete_queued_resource(self.zone, self.name, project, force=forced)]
        return [gcloud.on_node("delete", self.zone, node.name, project) for node in self.nodes]


def find(
    queued_resources: Sequence[QueuedResource], nodes: Sequence[Node], name: str
) -> list[Doomed]:
    """Return what a name means: a queued resource with its nodes, or a node by itself."""
    return [one for one in everything(queued_resources, nodes) if _is_meant(one, name)]


def leftovers(queued_resources: Sequence[QueuedResource], nodes: Sequence[Node]) -> list[Doomed]:
    """Return what never becomes a TPU again and only holds its name and quota."""
    return [one for one in everything(queued_resources, nodes) if is_leftover(one)]


def is_leftover(one: Doomed) -> bool:
    """Return whether something never becomes a TPU again and only holds its name and quota."""
    if one.queued_resource is not None:
        return states.is_leftover(one.queued_resource)
    return all(map(states.is_leftover, one.nodes))


def everything(queued_resources: Sequence[QueuedResource], nodes: Sequence[Node]) -> list[Doomed]:
    """Return all that exists, with the nodes of a queued resource beside it."""
    rows: list[Doomed] = []
    claimed: set[tuple[str, str]] = set()
    # By name and by request, so that 2,000 of each are not compared with each other.
    named: dict[tuple[str, str], list[int]] = {}
    made_for: dict[tuple[str, str], list[int]] = {}
    for index, node in enumerate(nodes):
        named.setdefault((node.zone, node.name), []).append(index)
        made_for.setdefault((node.zone, node.queued_resource), []).append(index)
    for resource in queued_resources:
        found = {*made_for.get((resource.zone, resource.name), ())}
        for name in resource.nodes:
            found.update(named.get((resource.zone, name), ()))
        mine = tuple(nodes[index] for index in sorted(found))
        claimed.update((node.zone, node.name) for node in mine)
        rows.append(Doomed(resource.zone, resource.name, resource, mine))
    rows += [
        Doomed(node.zone, node.name, None, (node,))
        for node in nodes
        if (node.zone, node.name) not in claimed
    ]
    return sorted(rows, key=lambda row: (row.zone, row.name))


def _is_meant(one: Doomed, name: str) -> bool:
    return name == one.name or any(name == node.name for node in one.nodes)


def delete(
    client: Client, one: Doomed, clock: Clock, *, wait: bool = True
) -> Generator[Event, None, bool]:
    """Delete what was shown; yields what happens, and returns whether it is gone.

    Raises:
        CloudProblem: Google refused, for another reason than that it is gone already.
    """
    is_added = _known(client.project, one) is None
    entry = entry_of(client.project, one)
    try:
        if one.queued_resource is None:
            for node in one.nodes:
                _send_node(client, node)
        elif not (yield from _send(client, entry, one.queued_resource, clock, wait=wait)):
            yield Kept(entry, f"it is {one.queued_resource.state}, so Google cannot delete it yet")
            return False
    except CloudProblem as problem:
        if is_added and problem.kind not in UNANSWERED:
            ledger.remove(entry)
        raise
    if wait:
        return (yield from wait_until_gone(client, entry, clock))
    yield Kept(ledger.update(entry, "deleting"), STILL_LISTED)
    return False


def _send(
    client: Client, entry: Entry, resource: QueuedResource, clock: Clock, *, wait: bool
) -> Generator[Event, None, bool]:
    """Send the deletion once Google allows it; false if that would have to be waited for."""
    seen: QueuedResource | None = resource
    for attempt in range(1, ATTEMPTS + 1):
        if seen and seen.state in UNDELETABLE:
            if not wait:
                return False
            seen = yield from follow(client, entry, clock, until=_can_be_deleted)
        if seen is None or seen.state == "DELETING":
            return True
        yield Cancelling(entry, f"it is {seen.state}")
        try:
            send(client, entry, force=seen.state not in UNFORCED)
        except CloudProblem as problem:
            if problem.kind != "state" or attempt == ATTEMPTS:
                raise
            seen = client.queued_resource(entry.zone, entry.name)
        else:
            return True
    return False


def _can_be_deleted(state: str) -> bool:
    return state not in ("", *UNDELETABLE)


def _send_node(client: Client, node: Node) -> None:
    try:
        client.delete_node(node.zone, node.name)
    except CloudProblem as problem:
        if problem.kind != "missing":
            raise


def entry_of(project: str, one: Doomed) -> Entry:
    """Return the ledger's entry of what is deleted; it gets one if it was made elsewhere."""
    known = _known(project, one)
    if known is not None:
        return known
    entry = entry_for(project, one)
    ledger.add(entry)
    return entry


def entry_for(project: str, one: Doomed) -> Entry:
    """Return an entry of what was made elsewhere; the ledger does not get it."""
    resource = one.queued_resource
    made = resource or one.nodes[0]
    return Entry(
        project=project,
        zone=one.zone,
        name=one.name,
        type=made.type,
        chips=_chips(made.type),
        tier=made.tier,
        asked=ledger.stamp(made.created) if made.created else "1970-01-01T00:00:00+00:00",
        phase="seen",
        nodes=resource.nodes if resource else (one.name,),
        created=ownership.created(resource) if resource else "",
    )


def _known(project: str, one: Doomed) -> Entry | None:
    """Return the entry that the ledger has of this; null where it has none, or one of another."""
    for entry in ledger.entries():
        if entry.key == (project, one.zone, one.name):
            resource = one.queued_resource
            is_others = resource is not None and ownership.whose(entry, resource) == "other"
            return None if is_others else entry
    return None


def _chips(name: str) -> int:
    try:
        return tpus.parse_type(name).chips
    except LookupError:
        return 0


def nothing_of(name: str) -> Problem:
    """Return the Problem for a name that nothing has."""
    return Problem(
        f"there is no TPU and no request called `{name}`",
        hint="`tpustarter tpu list` shows what exists in every zone",
        code=ExitCode.USAGE,
    )
