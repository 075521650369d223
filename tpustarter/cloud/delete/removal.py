"""Deletion of TPUs: the plan is shown first, and an entry is removed once Google lists nothing.

An ACTIVE queued resource is deleted by force, together with its nodes. One in PROVISIONING cannot
be deleted until that ends. Nodes without a queued resource are deleted directly.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from tpustarter.cloud.api import gcloud_commands, resource_states
from tpustarter.cloud.api.api_client import UNANSWERED, ApiClient, ProjectClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import Api, QueuedResource, TpuNode
from tpustarter.cloud.billing import chips, ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.create.events import Event, RequestMayExist, RequestWithdrawn
from tpustarter.cloud.create.follow_request import follow_request
from tpustarter.cloud.delete import ownership
from tpustarter.cloud.delete.ownership import Whose
from tpustarter.cloud.delete.withdrawal import (
    STILL_LISTED,
    UNFORCED,
    request_deletion,
    wait_until_gone,
)
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import escape_text

UNDELETABLE = ("PROVISIONING", "CREATING", "SUSPENDING")
"""Queued resource states in which Google refuses deletion."""
ATTEMPTS = 3
"""Number of attempts to delete a queued resource that changes its state in the meantime."""


@dataclass(frozen=True)
class DeletionPlan:
    """The resources that one deletion removes."""

    zone: str
    name: str
    queued_resource: QueuedResource | None
    nodes: tuple[TpuNode, ...]

    @property
    def api(self) -> Api:
        """Return the API these resources belong to."""
        return (self.queued_resource or self.nodes[0]).api

    @property
    def is_too_early(self) -> bool:
        """True if Google refuses the deletion because the TPU is still being created."""
        return self.queued_resource is not None and _is_undeletable(self.queued_resource)

    def commands(self, project: Project) -> list[tuple[str, ...]]:
        """Return the equivalent gcloud commands, in the order in which to run them."""
        if self.api == "compute":
            return self._compute_commands(project)
        if self.queued_resource is not None:
            forced = self.queued_resource.state not in UNFORCED
            return [
                gcloud_commands.build_delete_command(self.zone, self.name, project, force=forced)
            ]
        return [
            gcloud_commands.build_node_command("delete", self.zone, node.name, project)
            for node in self.nodes
        ]

    def _compute_commands(self, project: Project) -> list[tuple[str, ...]]:
        is_instance = any(node.instances == (self.name,) for node in self.nodes)
        request = self.queued_resource
        if is_instance or (request and request.state != "INCOMPLETE" and _is_one_host(request)):
            return [gcloud_commands.build_instance_command("delete", self.zone, self.name, project)]
        commands = gcloud_commands.build_group_delete_commands(self.zone, self.name, project)
        if request and request.state == "INCOMPLETE":
            return commands[1:]
        return commands if request and request.has_parts else commands[:1]


def _is_undeletable(resource: QueuedResource) -> bool:
    return resource.api == "cloud-tpu" and resource.state in UNDELETABLE


def _is_one_host(resource: QueuedResource) -> bool:
    tpu = chips.find_resource_type(resource)
    return tpu is None or tpu.hosts == 1


def find_deletion_plans(
    queued_resources: Sequence[QueuedResource], nodes: Sequence[TpuNode], name: str
) -> list[DeletionPlan]:
    """Return the plans for a name: a queued resource with its nodes, or a single node."""
    return [one for one in plan_all_deletions(queued_resources, nodes) if _is_meant(one, name)]


@dataclass(frozen=True)
class Leftovers:
    """Plans for resources that can't become a TPU but hold names and quota."""

    ours: list[DeletionPlan]
    others: list[DeletionPlan]
    """Those that may be somebody else's, which only their name deletes."""


def find_leftovers(
    project: str, queued_resources: Sequence[QueuedResource], nodes: Sequence[TpuNode]
) -> Leftovers:
    """Return a project's leftovers, divided by whether the ledger shows that they are ours."""
    found = Leftovers([], [])
    entries = ledger.read_ledger()
    for one in plan_all_deletions(queued_resources, nodes):
        if is_leftover_plan(one):
            is_ours = find_plan_owner(entries, project, one) == "ours"
            (found.ours if is_ours else found.others).append(one)
    return found


def find_plan_owner(entries: Sequence[LedgerEntry], project: str, one: DeletionPlan) -> Whose:
    """Return the owner of a plan's resources, as the ledger's entries show it."""
    place = (one.api, project, one.zone)
    for entry in entries:
        if entry.key[:3] == place and one.name in (entry.name, *entry.nodes):
            if one.queued_resource is None:
                return ownership.find_node_owner(entry, one.nodes[0])
            if entry.name == one.name:
                return ownership.find_owner(entry, one.queued_resource)
    return "other"


def is_leftover_plan(one: DeletionPlan) -> bool:
    """Return whether a plan's resources can't become a TPU but still hold their names and quota."""
    if one.queued_resource is not None:
        return resource_states.is_leftover(one.queued_resource)
    return all(map(resource_states.is_leftover, one.nodes))


def plan_all_deletions(
    queued_resources: Sequence[QueuedResource], nodes: Sequence[TpuNode]
) -> list[DeletionPlan]:
    """Return plans for all resources, each queued resource together with its nodes."""
    rows: list[DeletionPlan] = []
    claimed: set[tuple[str, ...]] = set()
    # Indexed by name and by request, to avoid comparing 2,000 of each with each other.
    named: dict[tuple[str, ...], list[int]] = {}
    made_for: dict[tuple[str, ...], list[int]] = {}
    for index, node in enumerate(nodes):
        named.setdefault((node.api, node.zone, node.name), []).append(index)
        made_for.setdefault((node.api, node.zone, node.queued_resource), []).append(index)
    for resource in queued_resources:
        place = (resource.api, resource.zone)
        found = {*made_for.get((*place, resource.name), ())}
        for name in resource.nodes:
            found.update(named.get((*place, name), ()))
        mine = tuple(nodes[index] for index in sorted(found))
        claimed.update((node.api, node.zone, node.name) for node in mine)
        rows.append(DeletionPlan(resource.zone, resource.name, resource, mine))
    rows += [
        DeletionPlan(node.zone, node.name, None, (node,))
        for node in nodes
        if (node.api, node.zone, node.name) not in claimed
    ]
    return sorted(rows, key=lambda row: (row.zone, row.name))


def _is_meant(one: DeletionPlan, name: str) -> bool:
    return name == one.name or any(name == node.name for node in one.nodes)


def carry_out_deletion(
    project: ProjectClient, one: DeletionPlan, clock: Clock, *, wait: bool = True
) -> Generator[Event, None, bool]:
    """Delete a plan's resources; yields the events, and returns whether they are gone.

    Raises:
        CloudProblem: Google refused, unless because the resources were already gone.
        Problem: Another resource has the name by now.
    """
    client = project.of(one.api)
    _require_same_resource(client, one)
    is_added = _known(client.project, one) is None
    entry = find_or_add_entry(client.project, one)
    try:
        if one.queued_resource is None:
            for node in one.nodes:
                _send_node(client, node)
        elif not (yield from _send(client, entry, one.queued_resource, clock, wait=wait)):
            yield RequestMayExist(
                entry, f"it is {one.queued_resource.state}, so Google cannot delete it yet"
            )
            return False
    except CloudProblem as problem:
        if is_added and problem.kind not in UNANSWERED:
            ledger.remove_ledger_entry(entry)
        raise
    if wait:
        return (yield from wait_until_gone(client, entry, clock))
    yield RequestMayExist(ledger.update_ledger_entry(entry, "deleting"), STILL_LISTED)
    return False


def _require_same_resource(client: ApiClient, one: DeletionPlan) -> None:
    """Raise Problem if another resource has a plan's name by now."""
    if one.queued_resource:
        now = client.queued_resource(one.zone, one.name)
        ownership.require_same_resource(one.queued_resource, now)
    else:
        ownership.require_same_resource(one.nodes[0], client.node(one.zone, one.name))


def _send(
    client: ApiClient, entry: LedgerEntry, resource: QueuedResource, clock: Clock, *, wait: bool
) -> Generator[Event, None, bool]:
    """Send the deletion once Google allows it; without `wait`, return False instead of waiting."""
    seen: QueuedResource | None = resource
    for attempt in range(1, ATTEMPTS + 1):
        if seen and _is_undeletable(seen):
            if not wait:
                return False
            seen = yield from follow_request(client, entry, clock, until=_can_be_deleted)
        if seen is None or seen.state == "DELETING":
            return True
        yield RequestWithdrawn(entry, f"it is {seen.state}")
        try:
            request_deletion(client, entry, force=seen.state not in UNFORCED)
        except CloudProblem as problem:
            if problem.kind != "state" or attempt == ATTEMPTS:
                raise
            seen = client.queued_resource(entry.zone, entry.name)
        else:
            return True
    return False


def _can_be_deleted(state: str) -> bool:
    return state not in ("", *UNDELETABLE)


def _send_node(client: ApiClient, node: TpuNode) -> None:
    try:
        client.delete_node(node.zone, node.name)
    except CloudProblem as problem:
        if problem.kind != "missing":
            raise


def find_or_add_entry(project: str, one: DeletionPlan) -> LedgerEntry:
    """Return the ledger entry for the TPU to delete, adding one if it was created elsewhere."""
    known = _known(project, one)
    if known is not None:
        return known
    entry = make_entry_for_foreign_tpu(project, one)
    ledger.add_ledger_entry(entry)
    return entry


def make_entry_for_foreign_tpu(project: str, one: DeletionPlan) -> LedgerEntry:
    """Return a ledger entry for a TPU that was created elsewhere, without saving it."""
    resource = one.queued_resource
    made = resource or one.nodes[0]
    return LedgerEntry(
        project=project,
        zone=one.zone,
        name=one.name,
        type=made.type,
        chips=chips.count_type_chips(made.type),
        tier=made.tier,
        asked=ledger.format_ledger_time(made.created)
        if made.created
        else "1970-01-01T00:00:00+00:00",
        phase="seen",
        nodes=resource.nodes if resource else (one.name,),
        created=ownership.format_creation_time(resource) if resource else "",
        api=one.api,
    )


def _known(project: str, one: DeletionPlan) -> LedgerEntry | None:
    """Return a plan's ledger entry, or None if there is none or it is for another resource."""
    for entry in ledger.read_ledger():
        if entry.key == (one.api, project, one.zone, one.name):
            resource = one.queued_resource
            is_others = resource is not None and ownership.find_owner(entry, resource) == "other"
            return None if is_others else entry
    return None


def make_missing_tpu_problem(name: str, unreachable: Sequence[str] = ()) -> Problem:
    """Return the Problem for a name that no resource has, as far as Google was reached."""
    shown = escape_text(name)
    if unreachable:
        zones = escape_text(", ".join(unreachable))
        return Problem(
            f"Google lists nothing called `{shown}`, but it did not answer for {zones}",
            hint="compare the name with `tpustarter tpu list`: what is there may be billed",
            code=ExitCode.INCONCLUSIVE,
        )
    return Problem(
        f"there is no TPU and no request called `{shown}`",
        hint="`tpustarter tpu list` shows what exists in every zone",
        code=ExitCode.USAGE,
    )
