"""A project's resources as plain data: queued resources, nodes and incomplete listings.

The terms are the Cloud TPU API's: a queued resource is a request that waits for capacity, and a
node is the TPU VM or multi-host slice that it becomes. Compute Engine's resources map to the same
two terms: an instance, or a slice's managed instance group, is the request, and its machines are
the node.
Source: https://docs.cloud.google.com/tpu/docs/queued-resources (read 2026-11).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

Api = Literal["cloud-tpu", "compute"]
"""The API that creates a TPU: the Cloud TPU API or Compute Engine."""
Tier = Literal["spot", "on-demand", "reserved", "flex-start"]
"""The provisioning model, which decides the price and whether Google may reclaim the capacity."""


@dataclass(frozen=True)
class NodeSymptom:
    """A symptom that Google observed on a worker of a node, such as `HBM_OUT_OF_MEMORY`."""

    kind: str
    worker: str
    details: str
    since: datetime | None = None


@dataclass(frozen=True)
class TpuNode:
    """A node in the Cloud TPU API's sense: one TPU VM, or one slice of several TPU VMs."""

    project: str
    zone: str
    name: str
    type: str
    """Accelerator type as Google spells it: `v5litepod-8`."""
    state: str
    health: str = ""
    health_description: str = ""
    tier: Tier = "on-demand"
    created: datetime | None = None
    runtime_version: str = ""
    queued_resource: str = ""
    """Name of the request that created it; empty for a node created directly."""
    workers: int = 0
    internal_addresses: tuple[str, ...] = ()
    external_addresses: tuple[str, ...] = ()
    """The workers' external addresses, in order; empty if it was created without any."""
    data_disks: tuple[str, ...] = ()
    symptoms: tuple[NodeSymptom, ...] = ()
    api: Api = "cloud-tpu"
    instances: tuple[str, ...] = ()
    """Names of the workers' instances, in order; empty for the Cloud TPU API, which lists none."""


@dataclass(frozen=True)
class QueuedResource:
    """A request for capacity, from its time in the queue until it is deleted."""

    project: str
    zone: str
    name: str
    state: str
    type: str = ""
    tier: Tier = "on-demand"
    created: datetime | None = None
    nodes: tuple[str, ...] = ()
    """Ids of the nodes it has or will have."""
    error: tuple[int, str] | None = None
    """The failure's gRPC code and text."""
    api: Api = "cloud-tpu"
    is_by_user: bool = False
    """True if the project's users, and not Google, caused a SUSPENDING or SUSPENDED state."""
    has_parts: bool = False
    """True if a template or workload policy created by this program belongs to it."""


_Item = TypeVar("_Item")


@dataclass(frozen=True)
class ResourceList(Generic[_Item]):
    """Resources of one kind in several zones, and the zones that did not respond."""

    items: tuple[_Item, ...]
    unreachable: tuple[str, ...] = ()
    """Zones that Google's service could not reach, and whose resources `items` lacks."""


def list_unreachable(
    queued: ResourceList[QueuedResource], nodes: ResourceList[TpuNode]
) -> tuple[str, ...]:
    """Return the zones that are missing in either list."""
    return tuple(dict.fromkeys((*queued.unreachable, *nodes.unreachable)))
