"""What exists in a project, as plain data: queued resources, nodes, and where a listing is short.

The words are those of the Cloud TPU API: a queued resource is a request that waits for capacity, a
node is the TPU VM (or the slice of several) that it becomes.
Source: https://docs.cloud.google.com/tpu/docs/queued-resources (read 2026-11).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

Tier = Literal["spot", "on-demand", "reserved"]
"""How the capacity is paid for, and whether it can be taken back."""


@dataclass(frozen=True)
class Symptom:
    """Something that Google has noticed about a worker of a node, such as `HBM_OUT_OF_MEMORY`."""

    kind: str
    worker: str
    details: str
    since: datetime | None = None


@dataclass(frozen=True)
class Node:
    """One TPU VM, or one slice of several."""

    project: str
    zone: str
    name: str
    type: str
    """Its accelerator type, as Google spells it: `v5litepod-8`."""
    state: str
    health: str = ""
    health_description: str = ""
    tier: Tier = "on-demand"
    created: datetime | None = None
    runtime_version: str = ""
    queued_resource: str = ""
    """The name of the request that it came from; empty for a node made directly."""
    workers: int = 0
    internal_addresses: tuple[str, ...] = ()
    external_addresses: tuple[str, ...] = ()
    """Of the workers, in order; empty where it was made without external addresses."""
    data_disks: tuple[str, ...] = ()
    symptoms: tuple[Symptom, ...] = ()


@dataclass(frozen=True)
class QueuedResource:
    """A request for capacity, from the queue to the node and what is left of it afterwards."""

    project: str
    zone: str
    name: str
    state: str
    type: str = ""
    tier: Tier = "on-demand"
    created: datetime | None = None
    nodes: tuple[str, ...] = ()
    """The ids of the nodes that it is, or will become."""
    error: tuple[int, str] | None = None
    """The gRPC code and the text of what made it fail."""


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Listing(Generic[_Item]):
    """What a listing returned, and which zones did not answer it."""

    items: tuple[_Item, ...]
    unreachable: tuple[str, ...] = ()
    """Zones that Google's service could not reach: what is there is not in `items`."""
