"""One client for the Cloud TPU API and Compute Engine, which lists a project's TPUs together."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tpustarter.cloud.api import rest_client, tpu_client
from tpustarter.cloud.api.api_choice import TITLES
from tpustarter.cloud.api.api_client import EVERY_ZONE, ApiClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.resources import Api, QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.api.tpu_client import TpuClient

Resources = tuple[ResourceList[QueuedResource], ResourceList[TpuNode]]
"""Requests and nodes."""

ONE_API = ("denied", "setup")
"""Error kinds that can affect one API while the other still responds."""


class CloudClient:
    """A client for both the Cloud TPU API and Compute Engine, for one project."""

    def __init__(
        self,
        project: str,
        *,
        clock: Clock | None = None,
        tpu: TpuClient | None = None,
        compute: ApiClient | None = None,
    ) -> None:
        self.project = project
        self._clock = clock
        self._tpu = tpu
        self._compute = compute

    @functools.cached_property
    def tpu(self) -> TpuClient:
        """Return the Cloud TPU API client."""
        return self._tpu or TpuClient(self.project, clock=self._clock)

    @functools.cached_property
    def compute(self) -> ApiClient:
        """Return the Compute Engine client."""
        from tpustarter.cloud.api.compute_client import ComputeClient

        return self._compute or ComputeClient(self.project, clock=self._clock)

    def zones(self) -> list[str]:
        """Return the zones that offer Cloud TPU to this project."""
        return self.tpu.zones()

    def types(self, zone: str) -> list[str]:
        """Return the accelerator types offered in a zone."""
        return self.tpu.types(zone)

    def versions(self, zone: str) -> list[str]:
        """Return the runtime versions offered in a zone."""
        return self.tpu.versions(zone)

    def of(self, api: Api) -> ApiClient:
        """Return the client for an API."""
        return self.compute if api == "compute" else self.tpu

    @property
    def apis(self) -> Sequence[ApiClient]:
        """Return the clients of the Cloud TPU API and Compute Engine.

        Compute Engine is not queried if a test server replaces only the Cloud TPU API.
        """
        is_half = tpu_client.find_tpu_test_server() and not rest_client.find_rest_test_server()
        if is_half and self._compute is None:
            return (self.tpu,)
        return (self.tpu, self.compute)

    def resources(self, zone: str = EVERY_ZONE) -> Resources:
        """Return the requests and nodes of both APIs in a zone, or in all zones for `-`.

        If one API refuses, its name is listed in `unreachable`.

        Raises:
            CloudProblem: Both APIs refuse, or one does not respond.
        """
        return self._ask(lambda client: client.resources(zone))

    def nodes(self, zone: str = EVERY_ZONE) -> ResourceList[TpuNode]:
        """Return the TPU VMs and slices of both APIs; raises CloudProblem as `resources` does."""
        return self._ask(lambda client: (ResourceList(()), client.nodes(zone)))[1]

    def _ask(self, question: Callable[[ApiClient], Resources]) -> Resources:
        requests: list[QueuedResource] = []
        nodes: list[TpuNode] = []
        silent: list[str] = []
        refusals: list[CloudProblem] = []
        for client in self.apis:
            try:
                of_requests, of_nodes = question(client)
            except CloudProblem as problem:
                if problem.kind not in ONE_API:
                    raise
                refusals.append(problem)
                silent.append(f"{TITLES[client.api]} ({problem.summary})")
                continue
            requests += of_requests.items
            nodes += of_nodes.items
            silent += [*of_requests.unreachable, *of_nodes.unreachable]
        if len(refusals) == len(self.apis):
            raise refusals[0]
        places = tuple(dict.fromkeys(silent))
        return ResourceList(tuple(requests), places), ResourceList(tuple(nodes), places)
