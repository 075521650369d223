"""A slice as a small picture: its hosts with their chips, and the state of each worker in words.

All of it is what the Cloud TPU API says of a node; what it does not say is not drawn. The signs are
ASCII and each row says its state in words, so colour adds nothing that is not there without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tpustarter.cloud import chips, states
from tpustarter.cloud.resources import Node
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType

ROWS = 8
"""Hosts that have a row each; more of them are one sign each."""
PER_ROW = 16
NAMED = 4
"""Workers of a large slice that are named because they differ."""
_SIGNS = {"good": "#", "wait": "."}
_STOPPED, _TROUBLE = "-", "!"


@dataclass(frozen=True)
class Host:
    """One worker of a slice."""

    worker: int
    words: str
    """Its state, such as `ready` or `creating`."""
    mark: str
    """What the state is for the user: `good`, `wait`, `act`, `bad` or `unknown`."""

    @property
    def sign(self) -> str:
        """Return the sign that stands for it."""
        return _STOPPED if self.words == "stopped" else _SIGNS.get(self.mark, _TROUBLE)


@dataclass(frozen=True)
class Row:
    """A line of the picture."""

    label: str
    signs: str
    words: str
    mark: str


def hosts_of(node: Node) -> list[Host]:
    """Return the workers of a node; none where neither its type nor Google says how many."""
    tpu = chips.type_of(node)
    count = tpu.hosts if tpu else node.workers
    return [_host(node, worker) for worker in range(count)]


def _host(node: Node, worker: int) -> Host:
    symptoms = [one.kind for one in node.symptoms if _number(one.worker) == worker]
    if symptoms:
        found = states.of("symptoms", symptoms[0])
        return Host(worker, ", ".join(map(_in_words, symptoms)), found.mark)
    state = states.of_resource(node)
    if state.mark == "good" and node.internal_addresses and worker >= len(node.internal_addresses):
        return Host(worker, "no address", "act")
    if state.mark == "good" and node.health not in ("", "HEALTHY"):
        found = states.of("health", node.health)
        return Host(worker, f"{_in_words(node.state)}, {_in_words(node.health)}", found.mark)
    return Host(worker, _in_words(node.state), state.mark)


def _number(worker: str) -> int | None:
    """Return the number of a worker as Google names it: `2`, or a name that ends with it."""
    found = re.search(r"\d+$", worker)
    return int(found[0]) if found and len(found[0]) < 6 else None


def _in_words(name: str) -> str:
    return name.replace("_", " ").lower()


def title(node: Node) -> str:
    """Return what the slice is: `4 hosts with 4 chips each, topology 4x4`."""
    tpu = chips.type_of(node)
    return title_of_type(tpu) if tpu else _count_of_hosts(len(hosts_of(node)))


def _count_of_hosts(count: int) -> str:
    return "1 host" if count == 1 else f"{count} hosts"


def title_of_type(tpu: TpuType) -> str:
    """Return what a slice of a type is."""
    hosts = _count_of_hosts(tpu.hosts)
    number = tpu.chips // tpu.hosts
    each = " each" if tpu.hosts > 1 else ""
    shape = next((row.topology_name for row in tpus.TOPOLOGIES if row.name == tpu.name), "")
    shown = f", topology {shape.partition(':')[2]}" if shape else ""
    return f"{hosts} with {number} chip{'s' * (number > 1)}{each}{shown}"


def rows(node: Node) -> list[Row]:
    """Return the picture of a slice, at most some 45 columns wide; empty where nothing is known."""
    return _rows(hosts_of(node), chips.type_of(node))


def rows_of_type(tpu: TpuType) -> list[Row]:
    """Return the picture of a slice that nobody has asked for yet."""
    return _rows([Host(worker, "", "wait") for worker in range(tpu.hosts)], tpu)


def _rows(hosts: Sequence[Host], tpu: TpuType | None) -> list[Row]:
    if len(hosts) > ROWS:
        return [*_folded(hosts), *_odd(hosts)]
    number = tpu.chips // tpu.hosts if tpu else 1
    return [
        Row(f"worker {one.worker}", f"[{one.sign * number}]", one.words, one.mark) for one in hosts
    ]


def _folded(hosts: Sequence[Host]) -> Iterator[Row]:
    """Yield a sign for each worker, and how many of a row are in which state."""
    for first in range(0, len(hosts), PER_ROW):
        some = hosts[first : first + PER_ROW]
        signs = "".join(one.sign for one in some)
        half = PER_ROW // 2
        boxes = " ".join(filter(None, (signs[:half], signs[half:])))
        label = f"workers {first}-{first + len(some) - 1}"
        yield Row(label, f"[{boxes}]", counted(some), _worst(some))


def _odd(hosts: Sequence[Host]) -> Iterator[Row]:
    """Yield those that are not as most are, by name, and the rest of them as a number."""
    usual = max({one.words for one in hosts}, key=lambda words: _count(hosts, words))
    odd = [one for one in hosts if one.words != usual]
    for one in odd[:NAMED]:
        yield Row(f"worker {one.worker}", f"[{one.sign}]", one.words, one.mark)
    if len(odd) > NAMED:
        yield Row("", "", f"{len(odd) - NAMED} more are not {usual}", _worst(odd))


def counted(hosts: Sequence[Host]) -> str:
    """Return how many workers are in which state: `15 ready, 1 no address`."""
    return ", ".join(f"{_count(hosts, words)} {words}" for words in
                     dict.fromkeys(one.words for one in hosts))  # fmt: skip


def _count(hosts: Sequence[Host], words: str) -> int:
    return sum(one.words == words for one in hosts)


def _worst(hosts: Sequence[Host]) -> str:
    order = ("bad", "act", "unknown", "wait", "good")
    return min((one.mark for one in hosts), key=order.index)


def aligned(drawn: Sequence[Row]) -> Iterator[Row]:
    """Yield rows with labels, and signs, of one width."""
    label = max((len(row.label) for row in drawn), default=0)
    signs = max((len(row.signs) for row in drawn), default=0)
    for row in drawn:
        yield replace(row, label=f"{row.label:<{label}}", signs=f"{row.signs:<{signs}}")


def text(node: Node) -> Iterator[tuple[str, str, str]]:
    """Yield each line of the picture: its beginning, what its state is in words, and the mark."""
    for row in aligned(rows(node)):
        yield f"{row.label}  {row.signs}  ", row.words, row.mark
