"""Protocols of the clients for the Cloud TPU API and Compute Engine, which have the same methods.

`TpuClient` and `ComputeClient` are clients of one API each. `CloudClient` holds both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import Api, QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.create.tpu_request import TpuRequest

EVERY_ZONE = "-"
UNANSWERED = ("network", "internal", "unknown")
"""Error kinds after which it is unknown whether a request was carried out."""


@dataclass(frozen=True)
class OperationState:
    """The state of a Google long-running operation."""

    done: bool
    problem: CloudProblem | None = None
    """The reason for the failure, if it failed."""


class ProjectClient(Protocol):
    """A client that lists a project's TPUs, with the Cloud TPU API, Compute Engine, or both."""

    project: str

    @property
    def apis(self) -> Sequence[ApiClient]:
        """Return the clients of the APIs that this client queries."""
        ...

    def of(self, api: Api) -> ApiClient:
        """Return the client for an API."""
        ...

    def resources(
        self, zone: str = EVERY_ZONE
    ) -> tuple[ResourceList[QueuedResource], ResourceList[TpuNode]]:
        """Return the requests and nodes in a zone, or in all zones for `-`."""
        ...

    def nodes(self, zone: str = EVERY_ZONE) -> ResourceList[TpuNode]:
        """Return the TPU VMs and slices in a zone, or in all zones for `-`."""
        ...


class OfferingClient(ProjectClient, Protocol):
    """A client that also lists the zones, types and versions that the Cloud TPU API offers."""

    def zones(self) -> list[str]:
        """Return the zones that offer Cloud TPU to this project."""
        ...

    def types(self, zone: str) -> list[str]:
        """Return the accelerator types offered in a zone."""
        ...

    def versions(self, zone: str) -> list[str]:
        """Return the runtime versions offered in a zone."""
        ...


class ApiClient(ProjectClient, Protocol):
    """A client for a single API."""

    api: Api

    def queued_resources(self, zone: str = EVERY_ZONE) -> ResourceList[QueuedResource]:
        """Return the requests for TPUs in a zone, or in all zones for `-`."""
        ...

    def queued_resource(self, zone: str, name: str) -> QueuedResource | None:
        """Return the TPU request with this name, or None if it does not exist."""
        ...

    def node(self, zone: str, name: str) -> TpuNode | None:
        """Return the TPU VM or slice with this name, or None if it does not exist."""
        ...

    def request_of(self, zone: str, name: str) -> TpuRequest | None:
        """Return a request for the same TPU as a queued resource; None if it cannot be known."""
        ...

    def list_preemptions(self, zone: str) -> dict[str, datetime]:
        """Return a zone's pre-empted instances with the times; empty in the Cloud TPU API."""
        ...

    def create(self, request: TpuRequest) -> str:
        """Request a TPU, and return the name of the operation that creates it."""
        ...

    def delete_queued_resource(self, zone: str, name: str, *, force: bool) -> None:
        """Start deleting a request; `force` includes its nodes."""
        ...

    def delete_node(self, zone: str, name: str) -> None:
        """Start deleting a node."""
        ...

    def discard_parts(self, zone: str, name: str) -> None:
        """Delete the parts this program created for a TPU that outlive its deletion."""
        ...

    def stop_node(self, zone: str, name: str) -> str:
        """Start stopping a TPU VM, and return the operation's name."""
        ...

    def start_node(self, zone: str, name: str) -> str:
        """Start a stopped TPU VM, and return the operation's name."""
        ...

    def operation(self, name: str) -> OperationState:
        """Return the state of an operation."""
        ...
