"""Chip counts of queued resources and nodes, with each chip counted once.

A node and the request that created it are the same chips, and a listing contains both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tpustarter.cloud.api.resources import QueuedResource, TpuNode
from tpustarter.machine import tpus
from tpustarter.machine.tpus import TpuType

Resource = QueuedResource | TpuNode


def find_resource_type(resource: Resource) -> TpuType | None:
    """Return the TPU type of each of a resource's slices, or None if it is unknown."""
    try:
        return tpus.parse_type(resource.type)
    except LookupError:
        return None


def short_type_name(text: str) -> str:
    """Return a type's short form: `v5e-8` for `v5litepod-8`; an unknown type is unchanged."""
    try:
        return tpus.parse_type(text).name
    except LookupError:
        return text


def count_type_chips(name: str) -> int:
    """Return the number of chips in a TPU type, or 0 if it is unknown."""
    try:
        return tpus.parse_type(name).chips
    except LookupError:
        return 0


def count_resource_chips(resource: Resource) -> int | None:
    """Return the number of chips in all of a resource's slices, or None for an unknown type."""
    tpu = find_resource_type(resource)
    if tpu is None:
        return None
    slices = len(resource.nodes) if isinstance(resource, QueuedResource) else 1
    return tpu.chips * max(1, slices)


def select_resources_in_quota(resources: Iterable[Resource]) -> list[Resource]:
    """Return the resources that use quota: requests, and nodes with no listed request."""
    rows = list(resources)
    requested = {make_resource_key(row) for row in rows if isinstance(row, QueuedResource)}
    return [row for row in rows if not (isinstance(row, TpuNode) and _request(row) in requested)]


def select_billed_resources(resources: Iterable[Resource]) -> list[Resource]:
    """Return the resources that may cost money: nodes, and requests with no listed node."""
    rows = list(resources)
    nodes = [row for row in rows if isinstance(row, TpuNode)]
    from_requests = {_request(node) for node in nodes} | _named(rows, nodes)
    return [
        row
        for row in rows
        if not (isinstance(row, QueuedResource) and make_resource_key(row) in from_requests)
    ]


def make_resource_key(resource: Resource) -> tuple[str, ...]:
    """Return a resource's key, which is unique among requests and among nodes."""
    return (resource.api, resource.project, resource.zone, resource.name)


def _request(node: TpuNode) -> tuple[str, ...]:
    """Return the key of a node's request, whose name may be given as a full path."""
    return (node.api, node.project, node.zone, node.queued_resource.rpartition("/")[2])


def _named(rows: Sequence[Resource], nodes: Sequence[TpuNode]) -> set[tuple[str, ...]]:
    listed = {make_resource_key(node) for node in nodes}
    return {
        make_resource_key(row)
        for row in rows
        if isinstance(row, QueuedResource)
        and any((row.api, row.project, row.zone, name) in listed for name in row.nodes)
    }
