"""A project's TPUs in one list: those that Google lists, and those that only the ledger has.

Each row is something that can be deleted: a queued resource with its nodes, a node without one, or
a ledger entry that Google does not list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.api_client import EVERY_ZONE, ProjectClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.resource_states import StateMeaning
from tpustarter.cloud.api.resources import Api, TpuNode, list_unreachable
from tpustarter.cloud.billing import chips, ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.cloud.billing.ledger_reconciliation import reconcile_ledger
from tpustarter.cloud.create.events import RequestGone
from tpustarter.cloud.delete import removal
from tpustarter.cloud.delete.ownership import Whose
from tpustarter.cloud.delete.removal import DeletionPlan

SCHEMA = "tpustarter.tpus/1"

NOT_SEEN = StateMeaning(
    name="NOT_SEEN",
    mark="act",
    meaning="Its request was sent, but Google doesn't list it. It may still appear, or never.",
    do="Run `tpustarter tpu list` again in ten minutes; until then it may be billed.",
)
NOT_LOOKED = StateMeaning(
    name="NOT_LOOKED",
    mark="unknown",
    meaning="This program asked for it, and Google has not been asked since.",
    do="Run `tpustarter tpu list`, which asks Google.",
)


@dataclass(frozen=True)
class ListedTpu:
    """One TPU, from the queued request to the leftovers that hold quota."""

    name: str
    zone: str
    type: str
    tier: str
    chips: int
    state: StateMeaning
    created: datetime | None
    nodes: tuple[TpuNode, ...]
    error: str
    """Google's text on the failure, if any."""
    is_leftover: bool
    made_here: bool
    """True if the ledger has it, because this program requested it."""
    owner: Whose = "ours"
    """The owner that the ledger shows, which decides whether `--leftovers` deletes it."""
    note: str = ""
    project: str = ""
    api: Api = "cloud-tpu"

    @property
    def is_slice(self) -> bool:
        """True if the row is a single, READY multi-host slice of the Cloud TPU API."""
        node = self.nodes[0] if len(self.nodes) == 1 and self.api == "cloud-tpu" else None
        return node is not None and node.workers > 1 and node.state == "READY"

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return a sentence for each health problem that Google reports for the TPU's nodes."""
        found: list[str] = []
        for node in self.nodes:
            if node.health not in ("", "HEALTHY"):
                found.append(
                    f"{node.name}: {resource_states.find_state('health', node.health).meaning}"
                )
            for symptom in node.symptoms:
                worker = f", worker {symptom.worker}" if symptom.worker else ""
                meaning = resource_states.find_state("symptoms", symptom.kind).meaning
                found.append(f"{node.name}{worker}: {meaning}")
        return tuple(found)

    def age_s(self, now: datetime) -> float | None:
        """Return the seconds since the request, or None if Google gives no time."""
        return (now - self.created).total_seconds() if self.created else None

    def fields(self, now: datetime) -> dict[str, object]:
        """Return the row as a JSON object."""
        return {
            "name": self.name,
            "api": self.api,
            "zone": self.zone,
            "type": self.type,
            "tier": self.tier,
            "chips": self.chips,
            "state": self.state.name,
            "meaning": self.state.meaning,
            "do": self.state.do,
            "billed": self.state.billed,
            "leftover": self.is_leftover,
            "age_seconds": self.age_s(now),
            "nodes": [node.name for node in self.nodes],
            "troubles": list(self.troubles),
            "error": self.error or None,
            "made_here": self.made_here,
        }


@dataclass(frozen=True)
class ProjectOverview:
    """A project's rows, and the zones that could not be reached."""

    rows: tuple[ListedTpu, ...]
    unreachable: tuple[str, ...]

    @property
    def billed_chips(self) -> int:
        """Return the number of chips that are or may be billed now."""
        return sum(row.chips for row in self.rows if row.state.billed)

    @property
    def leftovers(self) -> tuple[ListedTpu, ...]:
        """Return the user's rows that can't become a TPU but still hold name and quota."""
        return tuple(row for row in self.rows if row.is_leftover and row.owner == "ours")

    @property
    def others_leftovers(self) -> tuple[ListedTpu, ...]:
        """Return the leftovers that may be somebody else's."""
        return tuple(row for row in self.rows if row.is_leftover and row.owner != "ours")


def fetch_overview(client: ProjectClient, clock: Clock, zone: str = EVERY_ZONE) -> ProjectOverview:
    """Return all TPUs in a zone, or in all zones, including those that only the ledger has.

    Entries of TPUs confirmed gone are removed from the ledger.
    """
    queued, nodes = client.resources(zone)
    gone: set[tuple[str, ...]] = set()
    for one in client.apis if zone == EVERY_ZONE else ():
        for event in reconcile_ledger(one, clock, queued_resources=queued, nodes=nodes):
            if isinstance(event, RequestGone):  # on a full disk the entry stays in the file
                gone.add(event.entry.key)
    entries = [
        entry
        for entry in ledger.read_ledger()
        if entry.project == client.project
        and zone in (EVERY_ZONE, entry.zone)
        and entry.key not in gone
    ]
    things = removal.plan_all_deletions(queued.items, nodes.items)
    mine = {(entry.api, entry.zone, entry.name): entry for entry in entries}
    rows = [_row(one, entries, client.project) for one in things]
    listed = {(one.api, one.zone, one.name) for one in things}
    rows += [_unseen(entry, NOT_SEEN) for key, entry in mine.items() if key not in listed]
    return ProjectOverview(tuple(sorted(rows, key=_order)), list_unreachable(queued, nodes))


def read_ledger_rows() -> tuple[ListedTpu, ...]:
    """Return all projects' ledger entries as rows; nothing is sent."""
    return tuple(_unseen(entry, NOT_LOOKED) for entry in ledger.read_ledger())


def make_tpu_row(one: DeletionPlan, project: str) -> ListedTpu:
    """Return a plan's TPU as a row, with the ledger's note."""
    return _row(one, ledger.read_ledger(), project)


def _row(one: DeletionPlan, entries: Sequence[LedgerEntry], project: str) -> ListedTpu:
    key = (one.api, project, one.zone, one.name)
    entry = next((row for row in entries if row.key == key), None)
    made = one.queued_resource or one.nodes[0]
    error = one.queued_resource.error if one.queued_resource else None
    slices = len(one.queued_resource.nodes) if one.queued_resource else 1
    return ListedTpu(
        name=one.name,
        zone=one.zone,
        type=chips.short_type_name(made.type),
        tier=made.tier,
        chips=chips.count_type_chips(made.type) * max(1, slices),
        state=_state(one),
        created=made.created,
        nodes=one.nodes,
        error=error[1] if error else "",
        is_leftover=removal.is_leftover_plan(one),
        made_here=entry is not None,
        owner=removal.find_plan_owner(entries, project, one),
        note=entry.note if entry else "",
        project=project,
        api=one.api,
    )


def _state(one: DeletionPlan) -> StateMeaning:
    """Return the most telling state: for an ACTIVE request, that of a node that is not READY."""
    if one.queued_resource is None or one.queued_resource.state != "ACTIVE":
        return resource_states.find_state_meaning(one.queued_resource or one.nodes[0])
    others = [
        resource_states.find_state_meaning(node) for node in one.nodes if node.state != "READY"
    ]
    return others[0] if others else resource_states.find_state_meaning(one.queued_resource)


def _unseen(entry: LedgerEntry, state: StateMeaning) -> ListedTpu:
    return ListedTpu(
        name=entry.name,
        zone=entry.zone,
        type=chips.short_type_name(entry.type),
        tier=entry.tier,
        chips=entry.chips,
        state=state,
        created=entry.request_time,
        nodes=(),
        error="",
        is_leftover=False,
        made_here=True,
        note=entry.note,
        project=entry.project,
        api=entry.api,
    )


def _order(row: ListedTpu) -> tuple[int, str, str]:
    return (["bad", "act", "unknown", "wait", "good"].index(row.state.mark), row.zone, row.name)


def find_rows(rows: Sequence[ListedTpu], name: str) -> list[ListedTpu]:
    """Return the rows in all zones that have this name, or a node with this name."""
    return [row for row in rows if name == row.name or name in [node.name for node in row.nodes]]
