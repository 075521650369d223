"""A Cloud TPU API client, with a timeout on every call and responses as plain data.

Reads are retried if the service does not respond. A call that changes something is sent only once,
because a request without a response may have been carried out. The error of a failed operation is
in its first `errors` entry, not in `details`.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from tpustarter.cloud.api import credentials, loopback_server
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api import message_conversion as api_messages
from tpustarter.cloud.api.api_client import EVERY_ZONE, OperationState
from tpustarter.cloud.api.clock import Clock, WallClock
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.message_conversion import Message
from tpustarter.cloud.api.resources import Api, QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.create.tpu_request import TpuRequest

if TYPE_CHECKING:
    import grpc

ENDPOINT = "TPUSTARTER_TPU_ENDPOINT"
"""Variable with the host and port of the loopback server that replaces Google's in tests."""
READ_S = 20.0
WRITE_S = 60.0
"""Timeout for a call, in seconds."""
READ_PAUSES_S = (1.0, 3.0, 8.0)
"""Seconds before each retry of a read, plus or minus half."""
RATE_PAUSE_S = 60.0
"""Seconds to wait before retrying after Google's rate limit."""
UNAVAILABLE, UNAUTHENTICATED = 14, 16
"""gRPC codes for errors of Google's library that have none of their own."""

_Answer = TypeVar("_Answer")
GoogleClient = Any
"""Google's client or one of its errors, whose classes are untyped."""


def find_tpu_test_server() -> str | None:
    """Return the test server's address from TPUSTARTER_TPU_ENDPOINT, or None if it is unset.

    Raises:
        Problem: It is not a loopback address with a port.
    """
    return loopback_server.read_test_server(ENDPOINT)


class TpuClient:
    """A Cloud TPU API client for one project."""

    api: Api = "cloud-tpu"

    def __init__(
        self,
        project: str,
        *,
        channel: grpc.Channel | None = None,
        clock: Clock | None = None,
        read_s: float = READ_S,
        write_s: float = WRITE_S,
    ) -> None:
        self.project = project
        self._clock = clock or WallClock()
        self._read_s = read_s
        self._write_s = write_s
        self._client = _connect(channel, project)
        """Google's own client; untyped, because its package takes a third of a second to import."""

    def of(self, api: Api) -> TpuClient:  # noqa: ARG002  the client of one API is its only one
        """Return the client for an API."""
        return self

    @property
    def apis(self) -> tuple[TpuClient, ...]:
        """Return the clients of the APIs that this client queries."""
        return (self,)

    def resources(
        self, zone: str = EVERY_ZONE
    ) -> tuple[ResourceList[QueuedResource], ResourceList[TpuNode]]:
        """Return the requests and nodes in a zone, or in all zones for `-`."""
        return self.queued_resources(zone), self.nodes(zone)

    def zones(self) -> list[str]:
        """Return the zones that offer Cloud TPU to this project, sorted."""
        names: list[str] = []
        token = ""
        while True:
            request = {"name": f"projects/{self.project}", "page_size": 200, "page_token": token}
            answer = self._read(
                "list the zones",
                lambda r=request: self._client.list_locations(r, timeout=self._read_s),
            )
            names += [api_messages.clean_text(row.location_id) for row in answer.locations]
            if answer.next_page_token in ("", token):
                return sorted(names)
            token = answer.next_page_token

    def types(self, zone: str) -> list[str]:
        """Return the accelerator types offered in a zone, as Google spells them."""
        rows, _ = self._all_pages("accelerator_types", zone)
        return sorted(
            (api_messages.clean_text(row.type_) for row in rows), key=api_messages.type_sort_key
        )

    def versions(self, zone: str) -> list[str]:
        """Return the runtime versions offered in a zone, which are TPU VM images."""
        rows, _ = self._all_pages("runtime_versions", zone)
        return sorted(api_messages.clean_text(row.version) for row in rows)

    def nodes(self, zone: str = EVERY_ZONE) -> ResourceList[TpuNode]:
        """Return the TPU VMs and slices in a zone, or in all zones for `-`."""
        rows, unreachable = self._all_pages("nodes", zone)
        return ResourceList(tuple(map(api_messages.parse_node, rows)), unreachable)

    def queued_resources(self, zone: str = EVERY_ZONE) -> ResourceList[QueuedResource]:
        """Return the requests for TPUs in a zone, or in all zones for `-`."""
        rows, unreachable = self._all_pages("queued_resources", zone)
        return ResourceList(tuple(map(api_messages.parse_queued_resource, rows)), unreachable)

    def node(self, zone: str, name: str) -> TpuNode | None:
        """Return the TPU VM or slice with this name, or None if it does not exist."""
        path = self._client.node_path(self.project, zone, name)
        row = self._get_resource(f"describe `{name}`", self._client.get_node, path)
        return api_messages.parse_node(row) if row else None

    def queued_resource(self, zone: str, name: str) -> QueuedResource | None:
        """Return the TPU request with this name, or None if it does not exist."""
        path = self._client.queued_resource_path(self.project, zone, name)
        row = self._get_resource(f"describe `{name}`", self._client.get_queued_resource, path)
        return api_messages.parse_queued_resource(row) if row else None

    def request_of(self, zone: str, name: str) -> TpuRequest | None:
        """Return a request for the same TPU as a queued resource, or None if it does not exist."""
        path = self._client.queued_resource_path(self.project, zone, name)
        row = self._get_resource(f"describe `{name}`", self._client.get_queued_resource, path)
        return api_messages.parse_tpu_request(row) if row else None

    def list_preemptions(self, zone: str) -> dict[str, datetime]:  # noqa: ARG002
        """Return nothing: a pre-empted TPU of this API is still listed."""
        return {}

    def create(self, request: TpuRequest) -> str:
        """Request a queued resource, and return the name of the operation that creates it."""
        return self._write(
            f"create `{request.name}`",
            self._client.create_queued_resource,
            parent=f"projects/{self.project}/locations/{request.zone}",
            queued_resource_id=request.name,
            queued_resource=api_messages.make_queued_resource_message(request, self.project),
        )

    def delete_queued_resource(self, zone: str, name: str, *, force: bool) -> None:
        """Start deleting a queued resource; `force` includes its nodes."""
        path = self._client.queued_resource_path(self.project, zone, name)
        request = {"name": path, "force": force}
        self._write(f"delete `{name}`", self._client.delete_queued_resource, request=request)

    def delete_node(self, zone: str, name: str) -> None:
        """Start deleting a node."""
        path = self._client.node_path(self.project, zone, name)
        self._write(f"delete `{name}`", self._client.delete_node, name=path)

    def discard_parts(self, zone: str, name: str) -> None:
        """Do nothing: deleting a queued resource leaves nothing behind."""

    def stop_node(self, zone: str, name: str) -> str:
        """Start stopping a TPU VM, and return the operation's name; slices cannot be stopped."""
        path = self._client.node_path(self.project, zone, name)
        return self._write(f"stop `{name}`", self._client.stop_node, request={"name": path})

    def start_node(self, zone: str, name: str) -> str:
        """Start a stopped TPU VM, and return the operation's name."""
        path = self._client.node_path(self.project, zone, name)
        return self._write(f"start `{name}`", self._client.start_node, request={"name": path})

    def operation(self, name: str) -> OperationState:
        """Return an operation's state; an operation unknown to Google counts as done."""
        try:
            row = self._read(
                "show the operation",
                lambda: self._client.get_operation(
                    {"name": name}, retry=None, timeout=self._read_s
                ),
            )
        except CloudProblem as problem:
            if problem.kind == "missing":
                return OperationState(done=True)
            raise
        return _ending(row, "finish what it was asked for")

    def _all_pages(self, kind: str, zone: str) -> tuple[list[Message], tuple[str, ...]]:
        """Return all pages' rows, and the zones that could not be reached.

        Args:
            kind: The name shared by the client's `list_` method and the response field.
            zone: The zone; `EVERY_ZONE` for all.
        """
        method = getattr(self._client, f"list_{kind}")
        request = {"parent": f"projects/{self.project}/locations/{zone}", "page_size": 1000}
        pages = self._read(
            f"list the {kind.replace('_', ' ')}",
            lambda: [*method(request=request, retry=None, timeout=self._read_s).pages],
        )
        rows = [row for page in pages for row in getattr(page, kind)]
        unreachable = (zone for page in pages for zone in page.unreachable)
        return rows, tuple(dict.fromkeys(map(api_messages.last_part, unreachable)))

    def _get_resource(self, doing: str, method: Callable[..., object], path: str) -> object:
        try:
            return self._read(doing, lambda: method(name=path, retry=None, timeout=self._read_s))
        except CloudProblem as error:
            if error.kind == "missing":
                return None
            raise

    def _read(self, doing: str, ask: Callable[[], _Answer]) -> _Answer:
        """Return a call's result, retrying for a while if the service does not respond.

        A call that took more than half of its timeout is not retried.
        """
        for pause in READ_PAUSES_S:
            began = self._clock.now()
            try:
                return _convert_google_errors(doing, ask)
            except CloudProblem as error:
                passed_s = (self._clock.now() - began).total_seconds()
                if not _is_unavailable(error) or passed_s > self._read_s / 2:
                    raise
            self._clock.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  no secret
        return _convert_google_errors(doing, ask)

    def _write(self, doing: str, method: Callable[..., Message], **arguments: object) -> str:
        """Send a change once, and return its operation's name.

        Only a rate-limited request, which cannot have started anything, is sent again.
        """

        def send() -> str:
            operation = method(**arguments, retry=None, timeout=self._write_s).operation
            if problem := _ending(operation, doing).problem:
                raise problem
            return operation.name

        try:
            return _convert_google_errors(doing, send)
        except CloudProblem as error:
            if error.kind != "rate":
                raise
            self._clock.sleep(RATE_PAUSE_S)
            return _convert_google_errors(doing, send)


def _ending(operation: Message, doing: str) -> OperationState:
    if not (operation.done and operation.HasField("error")):
        return OperationState(done=bool(operation.done))
    status = operation.error
    text = api_messages.clean_text(status.message)
    problem = api_errors.make_cloud_problem(status.code, text, _did_not(doing), status.details)
    return OperationState(done=True, problem=problem)


def _did_not(doing: str) -> str:
    return f"Google Cloud did not {doing}"


def _is_unavailable(problem: CloudProblem) -> bool:
    """Return whether the service did not respond but may do so in a moment.

    An unresolvable host name does not count, nor does an expired login.
    """
    from google.api_core import exceptions

    is_no_network = problem.failure is not None and problem.failure.id == "dns"
    if problem.kind != "network" or is_no_network:
        return False  # gRPC reports an expired login as UNAVAILABLE too
    return isinstance(problem.__cause__, exceptions.ServiceUnavailable)


def _convert_google_errors(doing: str, ask: Callable[[], _Answer]) -> _Answer:
    """Return a call's result, converting errors of Google's library to CloudProblem."""
    from google.api_core import exceptions
    from google.auth import exceptions as auth

    try:
        return ask()
    except exceptions.GoogleAPICallError as error:
        raised: GoogleClient = error
        code = raised.grpc_status_code.value[0] if raised.grpc_status_code else None
        problem = api_errors.make_cloud_problem(
            code, _text(raised), _did_not(doing), raised.details
        )
        raise _doubt_the_proxy(problem) from error
    except (exceptions.RetryError, auth.TransportError) as error:
        problem = api_errors.make_cloud_problem(
            UNAVAILABLE, api_messages.clean_text(str(error)), _did_not(doing)
        )
        raise _doubt_the_proxy(problem) from error
    except auth.GoogleAuthError as error:
        raise api_errors.make_cloud_problem(
            UNAUTHENTICATED, api_messages.clean_text(str(error)), _did_not(doing)
        ) from error


def _doubt_the_proxy(problem: CloudProblem) -> CloudProblem:
    """Return the Problem, with a hint about the proxy if one is configured."""
    names = ("grpc_proxy", "https_proxy", "http_proxy")  # in gRPC's order
    proxy = next((name for name in names if os.environ.get(name)), None)
    if (
        proxy
        and problem.kind == "network"
        and problem.failure is None
        and find_tpu_test_server() is None
    ):
        problem.hint = f"look whether the proxy that `{proxy}` names answers, then try again"
    return problem


def _text(raised: GoogleClient) -> str:
    """Return Google's own text from its library's error, or "" if it has none."""
    first: object = next(iter(raised.errors or ()), None)
    details = getattr(first, "details", None)  # on a gRPC error, whose `str` is meant for debugging
    told = (
        raised.message or getattr(first, "message", "") or (details() if callable(details) else "")
    )
    return api_messages.clean_text(str(told or ""))


def _connect(channel: grpc.Channel | None, project: str) -> GoogleClient:
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # gRPC logs to stderr when a server disconnects
    collects = gc.isenabled()
    gc.disable()  # collections would free nothing here, and take a tenth of the time
    try:
        from google.cloud import tpu_v2
        from google.cloud.tpu_v2.services.tpu.transports import TpuGrpcTransport
    finally:
        if collects:
            gc.enable()

    address = find_tpu_test_server()
    if channel is None and address is None:
        return tpu_v2.TpuClient(credentials=credentials.find_credentials(project))
    if channel is None and address is not None:
        import grpc

        channel = grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)])
    return tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel))
