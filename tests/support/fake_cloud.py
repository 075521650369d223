"""The Cloud TPU API on loopback, which the real client calls over real gRPC.

The library has no servicer, so the methods are generic handlers with the types' own `serialize`
and `deserialize`. Each request follows a script of states over time, and time is an argument, so
that a day passes in a second.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import grpc
from google.cloud import tpu_v2
from google.cloud.location import locations_pb2
from google.longrunning import operations_pb2, operations_pb2_grpc
from google.protobuf import any_pb2, empty_pb2
from google.rpc import code_pb2, status_pb2
from grpc_status import rpc_status

Step = tuple[float, str]
"""Seconds after the request, and the state from then on."""

SOON: tuple[Step, ...] = (
    (0, "ACCEPTED"),
    (5, "WAITING_FOR_RESOURCES"),
    (60, "PROVISIONING"),
    (180, "ACTIVE"),
)
NEVER: tuple[Step, ...] = ((0, "ACCEPTED"), (5, "WAITING_FOR_RESOURCES"))
"""A zone without capacity, where the request waits forever."""

STATES = tpu_v2.QueuedResourceState.State


BEGINS = datetime(2026, 11, 22, 8, 0, tzinfo=timezone.utc)


class FakeClock:
    """A clock that advances only in `sleep`."""

    def __init__(self, time: datetime = BEGINS) -> None:
        self.time = time
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Advance the clock by some seconds at once."""
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)


@dataclass
class Made:
    """A queued resource that was requested."""

    message: Any
    at: datetime
    steps: tuple[Step, ...]
    error: tuple[int, str] | None = None
    deleted_at: datetime | None = None


@dataclass
class Fault:
    """The error of one call."""

    code: int
    text: str
    after: bool = False
    """True if the request is carried out before its answer is lost."""
    details: tuple[Any, ...] = ()


@dataclass
class FakeCloud:
    """The service: its resources, the calls it got, and the next errors."""

    clock: FakeClock = field(default_factory=FakeClock)
    zones: list[str] = field(default_factory=lambda: ["us-central1-b", "us-east5-a"])
    types: dict[str, list[str]] = field(default_factory=dict)
    versions: dict[str, list[str]] = field(default_factory=dict)
    made: dict[str, Made] = field(default_factory=dict)
    """Queued resources by full name."""
    nodes: dict[str, Any] = field(default_factory=dict)
    """Directly created nodes by full name; those of queued resources are derived."""
    unreachable: list[str] = field(default_factory=list)
    scripts: dict[str, list[tuple[tuple[Step, ...], tuple[int, str] | None]]] = field(
        default_factory=dict
    )
    """Scripts of the next requests, by zone; `SOON` after those."""
    faults: dict[str, list[Fault | None]] = field(default_factory=dict)
    """Errors of the next calls, by method; None lets one through."""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    """Every call: its method and its message."""
    operations: dict[str, bool | tuple[int, str]] = field(default_factory=dict)
    """Operations by the name of their resource: done, not done, or the error."""
    delete_s: float = 30.0
    suspended_by: Any = tpu_v2.QueuedResourceState.StateInitiator.SERVICE
    """Who causes that a request is SUSPENDED: Google, or a user who deletes its node."""
    before_call: Callable[[str], None] | None = None
    port: int = 0

    def called(self, method: str) -> list[Any]:
        """Return the request messages of a method's calls."""
        return [message for name, message in self.calls if name == method]

    def state_of(self, made: Made) -> str | None:
        """Return the current state of a queued resource, or None once it is gone."""
        now = self.clock.now()
        if made.deleted_at is not None:
            return None if (now - made.deleted_at).total_seconds() >= self.delete_s else "DELETING"
        age_s = (now - made.at).total_seconds()
        return [state for start_s, state in made.steps if start_s <= age_s][-1]

    def existing(self) -> dict[str, str]:
        """Return the states of all existing queued resources and nodes, by name."""
        rows = {name: state for name, one in self.made.items() if (state := self.state_of(one))}
        return rows | {node.name: node.state.name for node in self._all_nodes("")}

    def preempt(self, zone: str, name: str) -> None:
        """Pre-empt a spot TPU: its queued resource is SUSPENDING, then SUSPENDED."""
        made = next(
            one for key, one in self.made.items() if key.endswith(f"{zone}/queuedResources/{name}")
        )
        age_s = (self.clock.now() - made.at).total_seconds()
        made.steps = (*made.steps, (age_s, "SUSPENDING"), (age_s + 60, "SUSPENDED"))

    # The methods of the service.

    def _list_zones(self, request: Any) -> Any:
        rows = [
            locations_pb2.Location(name=f"{request.name}/locations/{zone}", location_id=zone)
            for zone in self.zones
        ]
        return locations_pb2.ListLocationsResponse(locations=rows)

    def _list_types(self, request: Any) -> Any:
        rows = self.types.get(request.parent.rpartition("/")[2], ["v5litepod-8", "v6e-8"])
        return tpu_v2.ListAcceleratorTypesResponse(
            accelerator_types=[tpu_v2.AcceleratorType(type_=row) for row in rows]
        )

    def _list_versions(self, request: Any) -> Any:
        rows = self.versions.get(request.parent.rpartition("/")[2], ["v2-alpha-tpuv6e"])
        return tpu_v2.ListRuntimeVersionsResponse(
            runtime_versions=[tpu_v2.RuntimeVersion(version=row) for row in rows]
        )

    def _list_nodes(self, request: Any) -> Any:
        rows = self._all_nodes(request.parent)
        start, size = int(request.page_token or 0), min(request.page_size or 500, 500)
        following = str(start + size) if start + size < len(rows) else ""
        return tpu_v2.ListNodesResponse(
            nodes=rows[start : start + size],
            next_page_token=following,
            unreachable=self._unreachable(request.parent),
        )

    def _list_queued_resources(self, request: Any) -> Any:
        rows = [
            self._message(one)
            for name, one in self.made.items()
            if _is_under(name, request.parent) and self.state_of(one)
        ]
        return tpu_v2.ListQueuedResourcesResponse(
            queued_resources=rows, unreachable=self._unreachable(request.parent)
        )

    def _unreachable(self, parent: str) -> list[str]:
        project = parent.split("/")[1]
        return [f"projects/{project}/locations/{zone}" for zone in self.unreachable]

    def _get_queued_resource(self, request: Any) -> Any:
        made = self.made.get(request.name)
        if made is None or self.state_of(made) is None:
            raise _missing(request.name)
        return self._message(made)

    def _get_node(self, request: Any) -> Any:
        for node in self._all_nodes(""):
            if node.name == request.name:
                return node
        raise _missing(request.name)

    def _create_queued_resource(self, request: Any) -> Any:
        name = f"{request.parent}/queuedResources/{request.queued_resource_id}"
        if name in self.made and self.state_of(self.made[name]):
            raise Refusal(code_pb2.ALREADY_EXISTS, f"Resource '{name}' already exists")
        zone = request.parent.rpartition("/")[2]
        script = self.scripts.get(zone)
        steps, error = script.pop(0) if script else (SOON, None)
        message = tpu_v2.QueuedResource(request.queued_resource, name=name)  # not the caller's
        self.made[name] = Made(message, self.clock.now(), steps, error)
        return _operation(name)

    def _delete_queued_resource(self, request: Any) -> Any:
        made = self.made.get(request.name)
        state = self.state_of(made) if made else None
        if made is None or state is None:
            raise _missing(request.name)
        if state == "PROVISIONING" or (state == "ACTIVE" and not request.force):
            text = f"DeleteQueuedResource is not supported when state is {state}"
            raise Refusal(code_pb2.FAILED_PRECONDITION, text)
        made.deleted_at = made.deleted_at or self.clock.now()
        return _operation(request.name)

    def _delete_node(self, request: Any) -> Any:
        if request.name not in self.nodes:
            self._get_node(request)
            raise Refusal(code_pb2.FAILED_PRECONDITION, "the node is part of a queued resource")
        del self.nodes[request.name]
        return _operation(request.name)

    def _stop_node(self, request: Any) -> Any:
        self._node_of(request.name).state = tpu_v2.Node.State.STOPPED
        return _operation(request.name)

    def _start_node(self, request: Any) -> Any:
        node = self._node_of(request.name)
        if not isinstance(self.operations.get(request.name.rpartition("/")[2]), tuple):
            node.state = tpu_v2.Node.State.READY
        return _operation(request.name)

    def _get_operation(self, request: Any) -> Any:
        row = self.operations.get(request.name.rpartition("/")[2], True)
        operation = operations_pb2.Operation(name=request.name, done=row is not False)
        if isinstance(row, tuple):
            operation.error.CopyFrom(status_pb2.Status(code=row[0], message=row[1]))
        elif row:
            operation.response.Pack(empty_pb2.Empty())
        return operation

    def _node_of(self, name: str) -> Any:
        if name not in self.nodes:
            raise _missing(name)
        return self.nodes[name]

    def _all_nodes(self, parent: str) -> list[Any]:
        rows = list(self.nodes.values())
        for name, made in self.made.items():
            if self.state_of(made) not in ("ACTIVE", "SUSPENDED", "SUSPENDING"):
                continue
            for spec in made.message.tpu.node_spec:
                count = spec.multislice_params.node_count
                prefix = spec.multislice_params.node_id_prefix
                ids = [f"{prefix}-{i}" for i in range(count)] if count else [spec.node_id]
                rows += [self._node(name, made, spec, node_id) for node_id in ids]
        return [row for row in rows if _is_under(row.name, parent)]

    def _node(self, name: str, made: Made, spec: Any, node_id: str) -> Any:
        is_active = self.state_of(made) == "ACTIVE"
        state = tpu_v2.Node.State.READY if is_active else tpu_v2.Node.State.PREEMPTED
        return tpu_v2.Node(
            name=f"{spec.parent}/nodes/{node_id}",
            accelerator_type=spec.node.accelerator_type,
            runtime_version=spec.node.runtime_version,
            state=state,
            queued_resource=name,
            create_time=made.at,
            scheduling_config=tpu_v2.SchedulingConfig(spot="spot" in made.message),
        )

    def _message(self, made: Made) -> Any:
        state = self.state_of(made)
        message = tpu_v2.QueuedResource.deserialize(tpu_v2.QueuedResource.serialize(made.message))
        message.create_time = made.at
        message.state = tpu_v2.QueuedResourceState(state=STATES[state or "DELETING"])
        if state in ("SUSPENDING", "SUSPENDED"):
            message.state.state_initiator = self.suspended_by
        if made.error and state in ("FAILED", "SUSPENDED"):
            message.state.failed_data = tpu_v2.QueuedResourceState.FailedData(
                error=status_pb2.Status(code=made.error[0], message=made.error[1])
            )
        return message

    def _answer(self, method: str, do: Callable[[Any], Any], request: Any, context: Any) -> Any:
        self.calls.append((method, request))
        if self.before_call:
            self.before_call(method)
        queue = self.faults.get(method)
        fault = queue.pop(0) if queue else None
        try:
            if fault and not fault.after:
                raise Refusal(fault.code, fault.text, fault.details)
            answer = do(request)
            if fault:
                raise Refusal(fault.code, fault.text, fault.details)
        except Refusal as refusal:
            context.abort_with_status(rpc_status.to_status(refusal.status))
        return answer


class Refusal(Exception):  # noqa: N818  an answer, not a failure of the server
    """An error that the server answers with."""

    def __init__(self, code: int, text: str, details: tuple[Any, ...] = ()) -> None:
        super().__init__(text)
        packed = []
        for detail in details:
            one = any_pb2.Any()
            one.Pack(detail)
            packed.append(one)
        self.status = status_pb2.Status(code=code, message=text, details=packed)


def _missing(name: str) -> Refusal:
    return Refusal(code_pb2.NOT_FOUND, f"Resource '{name}' was not found")


def _is_under(name: str, parent: str) -> bool:
    return not parent or parent.endswith("/-") or name.startswith(f"{parent}/")


def _operation(name: str) -> Any:
    """Return a running operation on a resource."""
    place = name.rpartition("/")[0].rpartition("/")[0]
    return operations_pb2.Operation(name=f"{place}/operations/{name.rpartition('/')[2]}")


class _Operations(operations_pb2_grpc.OperationsServicer):
    """Operations that are done, unless `FakeCloud.operations` has another result."""

    def __init__(self, cloud: FakeCloud) -> None:
        self._cloud = cloud

    def GetOperation(self, request: Any, context: Any) -> Any:  # noqa: N802  gRPC's name
        return self._cloud._answer("GetOperation", self._cloud._get_operation, request, context)


_METHODS: dict[str, tuple[str, Any, Any]] = {
    "ListNodes": ("_list_nodes", tpu_v2.ListNodesRequest, tpu_v2.ListNodesResponse),
    "GetNode": ("_get_node", tpu_v2.GetNodeRequest, tpu_v2.Node),
    "DeleteNode": ("_delete_node", tpu_v2.DeleteNodeRequest, None),
    "StopNode": ("_stop_node", tpu_v2.StopNodeRequest, None),
    "StartNode": ("_start_node", tpu_v2.StartNodeRequest, None),
    "ListQueuedResources": (
        "_list_queued_resources",
        tpu_v2.ListQueuedResourcesRequest,
        tpu_v2.ListQueuedResourcesResponse,
    ),
    "GetQueuedResource": (
        "_get_queued_resource",
        tpu_v2.GetQueuedResourceRequest,
        tpu_v2.QueuedResource,
    ),
    "CreateQueuedResource": ("_create_queued_resource", tpu_v2.CreateQueuedResourceRequest, None),
    "DeleteQueuedResource": ("_delete_queued_resource", tpu_v2.DeleteQueuedResourceRequest, None),
    "ListAcceleratorTypes": (
        "_list_types",
        tpu_v2.ListAcceleratorTypesRequest,
        tpu_v2.ListAcceleratorTypesResponse,
    ),
    "ListRuntimeVersions": (
        "_list_versions",
        tpu_v2.ListRuntimeVersionsRequest,
        tpu_v2.ListRuntimeVersionsResponse,
    ),
}


def _handlers(cloud: FakeCloud) -> list[Any]:
    methods = {}
    for method, (name, request, response) in _METHODS.items():

        def answer(message: Any, context: Any, method: str = method, name: str = name) -> Any:
            return cloud._answer(method, getattr(cloud, name), message, context)

        serializer = (
            operations_pb2.Operation.SerializeToString if response is None else response.serialize
        )
        methods[method] = grpc.unary_unary_rpc_method_handler(
            answer, request_deserializer=request.deserialize, response_serializer=serializer
        )
    zones = grpc.unary_unary_rpc_method_handler(
        lambda message, context: cloud._answer(
            "ListLocations", cloud._list_zones, message, context
        ),
        request_deserializer=locations_pb2.ListLocationsRequest.FromString,
        response_serializer=locations_pb2.ListLocationsResponse.SerializeToString,
    )
    generic = grpc.method_handlers_generic_handler
    return [
        generic("google.cloud.tpu.v2.Tpu", methods),
        generic("google.cloud.location.Locations", {"ListLocations": zones}),
    ]


@contextlib.contextmanager
def serving(cloud: FakeCloud | None = None) -> Iterator[FakeCloud]:
    """Run the service on a free loopback port."""
    cloud = cloud or FakeCloud()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers(_handlers(cloud))  # type: ignore[arg-type]
    operations_pb2_grpc.add_OperationsServicer_to_server(_Operations(cloud), server)
    cloud.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield cloud
    finally:
        stopped: threading.Event = server.stop(grace=None)
        stopped.wait()


def channel(cloud: FakeCloud) -> Any:
    """Return a channel to the service that bypasses any proxy."""
    return grpc.insecure_channel(f"127.0.0.1:{cloud.port}", options=[("grpc.enable_http_proxy", 0)])
