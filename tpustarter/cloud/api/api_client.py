"""The methods that the clients of both APIs share, so that every flow works with either.

`TpuClient` and `ComputeClient` are clients of one API each. `CloudClient` holds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import Api, QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.create.tpu_request import TpuRequest

EVERY_ZONE = "-"
UNANSWERED = ("network", "internal", "unknown")
"""Kinds of errors after which nobody knows whether a request was carried out."""


@dataclass(frozen=True)
class OperationState:
    """The state of one of Google's operations, by which it says whether a change was made."""

    done: bool
    problem: CloudProblem | None = None
    """The reason of a failure."""


class ProjectClient(Protocol):
    """A client that lists the TPUs of a project, in one API or in both."""

    project: str

    @property
    def apis(self) -> Sequence[ApiClient]:
        """Return the clients of the APIs that this one asks."""
        ...

    def of(self, api: Api) -> ApiClient:
        """Return the client of an API."""
        ...

    def resources(
        self, zone: str = EVERY_ZONE
    ) -> tuple[ResourceList[QueuedResource], ResourceList[TpuNode]]:
        """Return the requests and the nodes in a zone, or in all zones for `-`."""
        ...

    def nodes(self, zone: str = EVERY_ZONE) -> ResourceList[TpuNode]:
        """Return the TPU VMs and slices in a zone, or in all zones for `-`."""
        ...


class OfferingClient(ProjectClient, Protocol):
    """A client that also lists what the Cloud TPU API offers to the project."""

    def zones(self) -> list[str]:
        """Return the zones that have Cloud TPU for this project."""
        ...

    def types(self, zone: str) -> list[str]:
        """Return the accelerator types that a zone offers."""
        ...

    def versions(self, zone: str) -> list[str]:
        """Return the runtime versions that a zone offers."""
        ...

    def request_of(self, zone: str, name: str) -> TpuRequest | None:
        """Return the request that made a queued resource of the Cloud TPU API."""
        ...


class ApiClient(ProjectClient, Protocol):
    """A client of one API."""

    api: Api

    def queued_resources(self, zone: str = EVERY_ZONE) -> ResourceList[QueuedResource]:
        """Return the requests for TPUs in a zone, or in all zones for `-`."""
        ...

    def queued_resource(self, zone: str, name: str) -> QueuedResource | None:
        """Return a request for a TPU by its name, or None if Google has none."""
        ...

    def node(self, zone: str, name: str) -> TpuNode | None:
        """Return a TPU VM or slice by its name, or None if Google has none."""
        ...

    def create(self, request: TpuRequest) -> str:
        """Request a TPU, and return the name of the operation that creates it."""
        ...

    def delete_queued_resource(self, zone: str, name: str, *, force: bool) -> None:
        """Request the deletion of a request; `force` includes its nodes."""
        ...

    def delete_node(self, zone: str, name: str) -> None:
        """Request the deletion of a node."""
        ...

    def discard_parts(self, zone: str, name: str) -> None:
        """Delete the resources that this program made for a TPU and that outlive it."""
        ...

    def stop_node(self, zone: str, name: str) -> str:
        """Request that a TPU VM stops, and return the operation's name."""
        ...

    def start_node(self, zone: str, name: str) -> str:
        """Request that a stopped TPU VM starts, and return the operation's name."""
        ...

    def operation(self, name: str) -> OperationState:
        """Return the state of an operation."""
        ...
