"""How many chips a queued resource or a node stands for, with each chip counted once.

A node and the request that it came from are the same chips, and a listing has both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tpustarter.cloud.resources import Node, QueuedResource
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType

Resource = QueuedResource | Node


def type_of(resource: Resource) -> TpuType | None:
    """Return the TPU that each of its slices is; null for a type that is not known here."""
    try:
        return tpus.parse_type(resource.type)
    except LookupError:
        return None


def type_name(text: str) -> str:
    """Return a type as people type it: `v5e-8` for `v5litepod-8`; another text as it is."""
    try:
        return tpus.parse_type(text).name
    except LookupError:
        return text


def count(resource: Resource) -> int | None:
    """Return the chips of all its slices; null for a type that is not known here."""
    tpu = type_of(resource)
    if tpu is None:
        return None
    slices = len(resource.nodes) if isinstance(resource, QueuedResource) else 1
    return tpu.chips * max(1, slices)


def without_nodes_of_requests(resources: Iterable[Resource]) -> list[Resource]:
    """Return requests, and the nodes whose request is not among them: what holds the quota."""
    rows = list(resources)
    requested = {place(row) for row in rows if isinstance(row, QueuedResource)}
    return [row for row in rows if not (isinstance(row, Node) and _request(row) in requested)]


def without_requests_of_nodes(resources: Iterable[Resource]) -> list[Resource]:
    """Return nodes, and the requests none of whose nodes is among them: what is billed."""
    rows = list(resources)
    nodes = [row for row in rows if isinstance(row, Node)]
    from_requests = {_request(node) for node in nodes} | _named(rows, nodes)
    return [
        row for row in rows if not (isinstance(row, QueuedResource) and place(row) in from_requests)
    ]


def place(resource: Resource) -> tuple[str, str, str]:
    """Return what tells a request from the other requests, and a node from the other nodes."""
    return (resource.project, resource.zone, resource.name)


def _request(node: Node) -> tuple[str, str, str]:
    """Return the request that a node came from, by its last name; its name may be a whole path."""
    return (node.project, node.zone, node.queued_resource.rpartition("/")[2])


def _named(rows: Sequence[Resource], nodes: Sequence[Node]) -> set[tuple[str, str, str]]:
    """Return the requests that name one of the nodes."""
    listed = {place(node) for node in nodes}
    return {
        place(row)
        for row in rows
        if isinstance(row, QueuedResource)
        and any((row.project, row.zone, name) in listed for name in row.nodes)
    }
