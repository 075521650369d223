"""All that a project has, in one list: what Google shows, and what only the ledger knows.

Each row is one thing that can be deleted: a queued resource with its nodes, a node without one, or
an entry of the ledger that Google does not list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tpustarter.cloud import chips, ledger, removal, states
from tpustarter.cloud.client import EVERY_ZONE, Client
from tpustarter.cloud.clock import Clock
from tpustarter.cloud.events import Gone
from tpustarter.cloud.ledger import Entry
from tpustarter.cloud.reconcile import reconcile
from tpustarter.cloud.removal import Doomed
from tpustarter.cloud.resources import Node
from tpustarter.cloud.states import State
from tpustarter.machine import tpus

SCHEMA = "tpustarter.tpus/1"

NOT_SEEN = State(
    name="NOT_SEEN",
    mark="act",
    meaning="Its request was sent, but Google doesn't list it. It may still appear, or never.",
    do="Run `tpustarter tpu list` again in ten minutes; until then it may be billed.",
)
NOT_LOOKED = State(
    name="NOT_LOOKED",
    mark="unknown",
    meaning="This program asked for it, and Google has not been asked since.",
    do="Run `tpustarter tpu list`, which asks Google.",
)


@dataclass(frozen=True)
class Row:
    """One TPU, from the request in the queue to the remains that hold quota."""

    name: str
    zone: str
    type: str
    tier: str
    chips: int
    state: State
    created: datetime | None
    nodes: tuple[Node, ...]
    error: str
    """Google's text of what made it fail; empty where nothing did."""
    is_leftover: bool
    made_here: bool
    """Whether the ledger has it: this program asked for it."""
    note: str = ""
    """What the ledger says of it."""
    project: str = ""

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return what Google says of the health of its nodes, in words."""
        found: list[str] = []
        for node in self.nodes:
            if node.health not in ("", "HEALTHY"):
                found.append(f"{node.name}: {states.of('health', node.health).meaning}")
            for symptom in node.symptoms:
                worker = f", worker {symptom.worker}" if symptom.worker else ""
                meaning = states.of("symptoms", symptom.kind).meaning
                found.append(f"{node.name}{worker}: {meaning}")
        return tuple(found)

    def age_s(self, now: datetime) -> float | None:
        """Return the seconds since it was asked for; null where Google does not say."""
        return (now - self.created).total_seconds() if self.created else None

    def fields(self, now: datetime) -> dict[str, Any]:
        """Return it as it stands in the JSON document."""
        return {
            "name": self.name,
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
class Overview:
    """The rows of a project, and the zones that were not reached."""

    rows: tuple[Row, ...]
    unreachable: tuple[str, ...]

    @property
    def billed_chips(self) -> int:
        """Return the chips that are, or may be, paid for now."""
        return sum(row.chips for row in self.rows if row.state.billed)

    @property
    def leftovers(self) -> tuple[Row, ...]:
        """Return what never becomes a TPU again."""
        return tuple(row for row in self.rows if row.is_leftover)


def look(client: Client, clock: Clock, zone: str = EVERY_ZONE) -> Overview:
    """Ask Google what there is in a zone, or in all, and add what only the ledger knows.

    What is known to be gone leaves the ledger.
    """
    queued, nodes = client.queued_resources(zone), client.nodes(zone)
    gone: set[tuple[str, str, str]] = set()
    if zone == EVERY_ZONE:
        for event in reconcile(client, clock, queued_resources=queued, nodes=nodes):
            if isinstance(event, Gone):  # on a full disk its entry stays all the same
                gone.add(event.entry.key)
    entries = [
        entry
        for entry in ledger.entries()
        if entry.project == client.project
        and zone in (EVERY_ZONE, entry.zone)
        and entry.key not in gone
    ]
    things = removal.everything(queued.items, nodes.items)
    mine = {(entry.zone, entry.name): entry for entry in entries}
    rows = [_row(one, mine.get((one.zone, one.name)), client.project) for one in things]
    listed = {(one.zone, one.name) for one in things}
    rows += [_unseen(entry, NOT_SEEN) for key, entry in mine.items() if key not in listed]
    unreachable = tuple(dict.fromkeys((*queued.unreachable, *nodes.unreachable)))
    return Overview(tuple(sorted(rows, key=_order)), unreachable)


def remembered() -> tuple[Row, ...]:
    """Return what the ledger knows, of every project; nothing is sent."""
    return tuple(_unseen(entry, NOT_LOOKED) for entry in ledger.entries())


def row_of(one: Doomed, project: str) -> Row:
    """Return one thing as a row, with what the ledger knows of it."""
    key = (project, one.zone, one.name)
    return _row(one, next((entry for entry in ledger.entries() if entry.key == key), None), project)


def _row(one: Doomed, entry: Entry | None, project: str) -> Row:
    made = one.queued_resource or one.nodes[0]
    error = one.queued_resource.error if one.queued_resource else None
    slices = len(one.queued_resource.nodes) if one.queued_resource else 1
    return Row(
        name=one.name,
        zone=one.zone,
        type=chips.type_name(made.type),
        tier=made.tier,
        chips=chips_of(made.type) * max(1, slices),
        state=_state(one),
        created=made.created,
        nodes=one.nodes,
        error=error[1] if error else "",
        is_leftover=removal.is_leftover(one),
        made_here=entry is not None,
        note=entry.note if entry else "",
        project=project,
    )


def _state(one: Doomed) -> State:
    """Return the state that says most: an ACTIVE request is as good as its worst node."""
    if one.queued_resource is None or one.queued_resource.state != "ACTIVE":
        return states.of_resource(one.queued_resource or one.nodes[0])
    others = [states.of_resource(node) for node in one.nodes if node.state != "READY"]
    return others[0] if others else states.of_resource(one.queued_resource)


def _unseen(entry: Entry, state: State) -> Row:
    return Row(
        name=entry.name,
        zone=entry.zone,
        type=chips.type_name(entry.type),
        tier=entry.tier,
        chips=entry.chips,
        state=state,
        created=entry.asked_at,
        nodes=(),
        error="",
        is_leftover=False,
        made_here=True,
        note=entry.note,
        project=entry.project,
    )


def _order(row: Row) -> tuple[int, str, str]:
    """Return what sorts first what the user must act on."""
    return (["bad", "act", "unknown", "wait", "good"].index(row.state.mark), row.zone, row.name)


def chips_of(name: str) -> int:
    """Return the chips of a type; 0 where it is not known."""
    try:
        return tpus.parse_type(name).chips
    except LookupError:
        return 0


def find(rows: Sequence[Row], name: str) -> list[Row]:
    """Return the rows that a name means, in whichever zone."""
    return [row for row in rows if name == row.name or name in [node.name for node in row.nodes]]
