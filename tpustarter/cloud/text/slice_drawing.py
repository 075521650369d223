"""A small drawing of a slice: its hosts with their chips, and each worker's state in words.

It shows only what the Cloud TPU API reports about a node. The symbols are ASCII and each row gives
its state in words, so colour adds no information.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.billing import chips
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType
from tpustarter.text import phrases

ROWS = 8
"""Largest number of hosts drawn with a row each; in a larger slice each host is one symbol."""
PER_ROW = 16
NAMED = 4
"""Largest number of a large slice's workers listed by name because their state differs."""
_SIGNS = {"good": "#", "wait": "."}
_STOPPED, _TROUBLE = "-", "!"


@dataclass(frozen=True)
class SliceHost:
    """One host in a slice drawing: its worker's number and state."""

    worker: int
    words: str
    """Its state, such as `ready` or `creating`."""
    mark: str
    """The state's effect for the user: `good`, `wait`, `act`, `bad` or `unknown`."""

    @property
    def sign(self) -> str:
        """Return the symbol for the host's state."""
        return _STOPPED if self.words == "stopped" else _SIGNS.get(self.mark, _TROUBLE)


@dataclass(frozen=True)
class DrawingRow:
    """A row of a slice drawing."""

    label: str
    signs: str
    words: str
    mark: str


def list_hosts(node: TpuNode) -> list[SliceHost]:
    """Return a node's workers, or none if neither its type nor Google gives their number."""
    tpu = chips.find_resource_type(node)
    count = tpu.hosts if tpu else node.workers
    return [_host(node, worker) for worker in range(count)]


def _host(node: TpuNode, worker: int) -> SliceHost:
    symptoms = [one.kind for one in node.symptoms if _number(one.worker) == worker]
    if symptoms:
        found = resource_states.find_state("symptoms", symptoms[0])
        return SliceHost(worker, ", ".join(map(_format_state, symptoms)), found.mark)
    state = resource_states.find_state_meaning(node)
    if state.mark == "good" and node.internal_addresses and worker >= len(node.internal_addresses):
        return SliceHost(worker, "no address", "act")
    if state.mark == "good" and node.health not in ("", "HEALTHY"):
        found = resource_states.find_state("health", node.health)
        return SliceHost(
            worker, f"{_format_state(node.state)}, {_format_state(node.health)}", found.mark
        )
    return SliceHost(worker, _format_state(node.state), state.mark)


def _number(worker: str) -> int | None:
    """Return the number at the end of Google's name for a worker, such as `2`."""
    found = re.search(r"\d+$", worker)
    return int(found[0]) if found and len(found[0]) < 6 else None


def _format_state(name: str) -> str:
    return name.replace("_", " ").lower()


def describe_slice_hosts(node: TpuNode) -> str:
    """Return a slice's description: `4 hosts with 4 chips each, topology 4x4`."""
    tpu = chips.find_resource_type(node)
    return format_type_title(tpu) if tpu else phrases.format_count(len(list_hosts(node)), "host")


def format_type_title(tpu: TpuType) -> str:
    """Return the description of a slice of this type."""
    hosts = phrases.format_count(tpu.hosts, "host")
    of_chips = phrases.format_count(tpu.chips // tpu.hosts, "chip")
    each = " each" if tpu.hosts > 1 else ""
    sides = tpus.find_topology_sides(tpu.generation, tpu.chips)
    shown = f", topology {'x'.join(map(str, sides))}" if sides else ""
    return f"{hosts} with {of_chips}{each}{shown}"


def draw_slice_rows(node: TpuNode) -> list[DrawingRow]:
    """Return a slice's drawing, about 45 columns wide, or none if nothing is known."""
    return _rows(list_hosts(node), chips.find_resource_type(node))


def draw_planned_slice_rows(tpu: TpuType) -> list[DrawingRow]:
    """Return the drawing of a slice that has not been requested yet."""
    return _rows([SliceHost(worker, "", "wait") for worker in range(tpu.hosts)], tpu)


def _rows(hosts: Sequence[SliceHost], tpu: TpuType | None) -> list[DrawingRow]:
    if len(hosts) > ROWS:
        return [*_folded(hosts), *_unusual_workers(hosts)]
    number = tpu.chips // tpu.hosts if tpu else 1
    return [
        DrawingRow(f"worker {one.worker}", f"[{one.sign * number}]", one.words, one.mark)
        for one in hosts
    ]


def _folded(hosts: Sequence[SliceHost]) -> Iterator[DrawingRow]:
    """Yield rows with a symbol for each worker, and the number of workers in each state."""
    for first in range(0, len(hosts), PER_ROW):
        some = hosts[first : first + PER_ROW]
        signs = "".join(one.sign for one in some)
        half = PER_ROW // 2
        boxes = " ".join(filter(None, (signs[:half], signs[half:])))
        label = f"workers {first}-{first + len(some) - 1}"
        yield DrawingRow(label, f"[{boxes}]", format_state_counts(some), _worst(some))


def _unusual_workers(hosts: Sequence[SliceHost]) -> Iterator[DrawingRow]:
    """Yield the workers in an unusual state: the first few by name, the rest as a count."""
    usual = max({one.words for one in hosts}, key=lambda words: _count(hosts, words))
    odd = [one for one in hosts if one.words != usual]
    for one in odd[:NAMED]:
        yield DrawingRow(f"worker {one.worker}", f"[{one.sign}]", one.words, one.mark)
    if len(odd) > NAMED:
        yield DrawingRow("", "", f"{len(odd) - NAMED} more are not {usual}", _worst(odd))


def format_state_counts(hosts: Sequence[SliceHost]) -> str:
    """Return how many workers are in each state: `15 ready, 1 no address`."""
    return ", ".join(
        f"{_count(hosts, words)} {words}" for words in dict.fromkeys(one.words for one in hosts)
    )


def _count(hosts: Sequence[SliceHost], words: str) -> int:
    return sum(one.words == words for one in hosts)


def _worst(hosts: Sequence[SliceHost]) -> str:
    order = ("bad", "act", "unknown", "wait", "good")
    return min((one.mark for one in hosts), key=order.index)


def align_rows(drawn: Sequence[DrawingRow]) -> Iterator[DrawingRow]:
    """Yield the rows with labels and signs padded to align in columns."""
    label = max((len(row.label) for row in drawn), default=0)
    signs = max((len(row.signs) for row in drawn), default=0)
    for row in drawn:
        yield replace(row, label=f"{row.label:<{label}}", signs=f"{row.signs:<{signs}}")


def draw_lines(node: TpuNode) -> Iterator[tuple[str, str, str]]:
    """Yield each line of the drawing as its drawn part, its state in words, and its mark."""
    for row in align_rows(draw_slice_rows(node)):
        yield f"{row.label}  {row.signs}  ", row.words, row.mark
