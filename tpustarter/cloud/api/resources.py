"""Resources of a project as plain data: queued resources, nodes, and incomplete listings.

The words are those of the Cloud TPU API: a queued resource is a request that waits for capacity, a
node is the TPU VM (or the slice of several) that it becomes. Resources of Compute Engine have the
same two sides: an instance, or a managed instance group for a slice, is the request, and its
machines are the node.
Source: https://docs.cloud.google.com/tpu/docs/queued-resources (read 2026-11).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

Api = Literal["cloud-tpu", "compute"]
"""The API that makes a TPU: the Cloud TPU API, or Compute Engine."""
Tier = Literal["spot", "on-demand", "reserved", "flex-start"]
"""The way in which capacity is paid for, and whether Google may take it back."""


@dataclass(frozen=True)
class NodeSymptom:
    """A symptom that Google observed on a worker of a node, such as `HBM_OUT_OF_MEMORY`."""

    kind: str
    worker: str
    details: str
    since: datetime | None = None


@dataclass(frozen=True)
class TpuNode:
    """A node of the Cloud TPU API: one TPU VM, or one slice of several TPU VMs."""

    project: str
    zone: str
    name: str
    type: str
    """Accelerator type in Google's spelling: `v5litepod-8`."""
    state: str
    health: str = ""
    health_description: str = ""
    tier: Tier = "on-demand"
    created: datetime | None = None
    runtime_version: str = ""
    queued_resource: str = ""
    """Name of the request that it came from; empty for a node created directly."""
    workers: int = 0
    internal_addresses: tuple[str, ...] = ()
    external_addresses: tuple[str, ...] = ()
    """Those of the workers, in order; empty where it was created without external addresses."""
    data_disks: tuple[str, ...] = ()
    symptoms: tuple[NodeSymptom, ...] = ()
    api: Api = "cloud-tpu"
    instances: tuple[str, ...] = ()
    """Names of the workers' instances, in order; the Cloud TPU API shows none."""


@dataclass(frozen=True)
class QueuedResource:
    """A request for capacity, from the queue to the node, and the rest of it afterwards."""

    project: str
    zone: str
    name: str
    state: str
    type: str = ""
    tier: Tier = "on-demand"
    created: datetime | None = None
    nodes: tuple[str, ...] = ()
    """Ids of the nodes that it is, or will become."""
    error: tuple[int, str] | None = None
    """The gRPC code and the text of the failure."""
    api: Api = "cloud-tpu"
    has_parts: bool = False
    """True if a template or workload policy of this program belongs to it."""


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class ResourceList(Generic[_Item]):
    """Resources of one kind in several zones, and the zones that did not answer."""

    items: tuple[_Item, ...]
    unreachable: tuple[str, ...] = ()
    """Zones that Google's service could not reach, so `items` has nothing from them."""
