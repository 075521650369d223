"""A Compute Engine client for TPUs, with the same methods and return values as `TpuClient`.

It calls the documented REST methods, because Google's own Python package imports all of Compute
Engine: 16 to 26 s, compared with 3 to 5 s for the Cloud TPU API's package on the same busy machine
(measured 2026-11). The tests parse every request with that package's types.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Literal, TypeVar

import msgspec

from tpustarter.cloud.api import compute_requests, credentials, rest_client
from tpustarter.cloud.api import errors as api_errors
from tpustarter.cloud.api.api_client import EVERY_ZONE, UNANSWERED, OperationState
from tpustarter.cloud.api.clock import Clock, WallClock
from tpustarter.cloud.api.compute_request_parsing import (
    MachineProperties,
    TemplateMachine,
    rebuild_request_from_machine,
)
from tpustarter.cloud.api.compute_resources import (
    ComputeResources,
    Instance,
    InstanceGroup,
    InstanceTemplate,
    ResourcePolicy,
    parse_timestamp,
)
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.message_conversion import last_part
from tpustarter.cloud.api.resources import Api, QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.api.rest_client import COMPUTE, RestClient, UnansweredError
from tpustarter.cloud.create.tpu_request import TpuRequest, find_region

CALL_S = 30.0
"""Timeout for one call, in seconds."""
PAGES = {"includeAllScopes": "True", "maxResults": 500, "returnPartialSuccess": "True"}
OPERATION_S = 300.0
"""Longest wait for a template or policy operation, in seconds."""
PREEMPTED = 'operationType="compute.instances.preempted"'
"""Filter for the operations that stand for a pre-emption."""
LOOK_S = 2.0
"""Seconds between polls of such an operation, which finishes within a few."""
_GRPC_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 409: 6, 412: 9, 429: 8}
"""gRPC codes by HTTP status, as Google's libraries map them.

Source: https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto (read 2026-11).
"""
INVALID, EXHAUSTED, INTERNAL, UNAVAILABLE = 3, 8, 13, 14
_QUOTA_REASONS = {"quotaExceeded", "limitExceeded"}

_Answer = TypeVar("_Answer")
_Part = TypeVar("_Part", Instance, InstanceGroup, InstanceTemplate, ResourcePolicy)


class _OperationError(msgspec.Struct):
    code: str = ""
    message: str = ""


class _OperationErrors(msgspec.Struct):
    errors: list[_OperationError] = []


class _Operation(msgspec.Struct, rename="camel"):
    name: str = ""
    status: str = ""
    http_error_status_code: int = 0
    error: _OperationErrors = msgspec.field(default_factory=_OperationErrors)


class _ZoneOperation(msgspec.Struct, rename="camel"):
    target_link: str = ""
    insert_time: str = ""


class _ZoneOperations(msgspec.Struct):
    items: list[_ZoneOperation] = []


class _Page(msgspec.Struct, rename="camel"):
    items: dict[str, dict[str, object]] = {}
    next_page_token: str = ""
    unreachables: list[str] = []


class _GroupError(msgspec.Struct):
    error: _OperationError = msgspec.field(default_factory=_OperationError)


class _GroupErrors(msgspec.Struct):
    items: list[_GroupError] = []


class ComputeClient:
    """A Compute Engine client for one project."""

    api: Api = "compute"

    def __init__(
        self, project: str, *, google: RestClient | None = None, clock: Clock | None = None
    ) -> None:
        self.project = project
        self._google = google or open_rest_client(project)
        self._clock = clock or WallClock()

    def of(self, api: Api) -> ComputeClient:  # noqa: ARG002  the client of one API is its only one
        """Return the client for an API."""
        return self

    @property
    def apis(self) -> tuple[ComputeClient, ...]:
        """Return the clients of the APIs that this client queries."""
        return (self,)

    def resources(
        self, zone: str = EVERY_ZONE
    ) -> tuple[ResourceList[QueuedResource], ResourceList[TpuNode]]:
        """Return the requests and nodes in a zone, or in all zones for `-`."""
        resources, unreachable = self._all_resources()
        requests, nodes = resources.list_tpus(self.project, self._clock.now())
        is_all = zone == EVERY_ZONE
        # A region is unreachable with all of its zones.
        unreachable = tuple(place for place in unreachable if is_all or zone.startswith(place))
        return (
            ResourceList(tuple(row for row in requests if is_all or row.zone == zone), unreachable),
            ResourceList(tuple(row for row in nodes if is_all or row.zone == zone), unreachable),
        )

    def queued_resources(self, zone: str = EVERY_ZONE) -> ResourceList[QueuedResource]:
        """Return the requests for TPUs in a zone, or in all zones for `-`."""
        return self.resources(zone)[0]

    def nodes(self, zone: str = EVERY_ZONE) -> ResourceList[TpuNode]:
        """Return the TPU VMs and slices in a zone, or in all zones for `-`."""
        return self.resources(zone)[1]

    def queued_resource(self, zone: str, name: str) -> QueuedResource | None:
        """Return the TPU request with this name, or None if it does not exist."""
        requests, _ = self._find(zone, name)
        return next((row for row in requests if row.name == name), None)

    def node(self, zone: str, name: str) -> TpuNode | None:
        """Return the TPU VM or slice with this name, or None if it does not exist."""
        _, nodes = self._find(zone, name)
        return next((row for row in nodes if row.name == name), None)

    def request_of(self, zone: str, name: str) -> TpuRequest | None:
        """Return a request for the same TPU, or None if this program did not make it."""
        machine = self._describe(f"zones/{zone}/instances/{name}", MachineProperties)
        if machine is not None:
            return rebuild_request_from_machine(machine, name, zone, self.project, 1)
        group = self._describe(f"zones/{zone}/instanceGroupManagers/{name}", InstanceGroup)
        template = self._describe(f"global/instanceTemplates/{name}", TemplateMachine)
        if group is None or template is None:
            return None
        return rebuild_request_from_machine(
            template.properties, name, zone, self.project, group.target_size
        )

    def list_preemptions(self, zone: str) -> dict[str, datetime]:
        """Return the instances that were pre-empted in a zone, each with the last time of it.

        Source: https://docs.cloud.google.com/compute/docs/samples/compute-preemptible-history
        """
        query = {"filter": PREEMPTED, "orderBy": "creationTimestamp desc", "maxResults": 500}
        path = self._path(f"zones/{zone}/operations")
        page = _convert_unanswered_errors(
            f"list the pre-emptions in {zone}",
            lambda: self._google.get(COMPUTE, path, _ZoneOperations, **query),
        )
        times = [
            (last_part(row.target_link), parse_timestamp(row.insert_time)) for row in page.items
        ]
        return {name: time for name, time in reversed(times) if time is not None}

    def create(self, request: TpuRequest) -> str:
        """Request a TPU, and return the name of the operation that creates it.

        A slice's policy and template are created first, and deleted again if Google refuses the
        group.
        """
        compute_requests.require_supported_request(request)
        place = f"zones/{request.zone}"
        doing = f"create `{request.name}`"
        if request.type.hosts == 1:
            body = compute_requests.make_instance_body(request, self.project)
            return self._write(doing, "POST", f"{place}/instances", body)
        region = f"regions/{find_region(request.zone)}"
        try:
            policy = compute_requests.make_resource_policy_body(request)
            self._finish(self._write(doing, "POST", f"{region}/resourcePolicies", policy))
            template = compute_requests.make_instance_template_body(request, self.project)
            self._finish(self._write(doing, "POST", "global/instanceTemplates", template))
            group = compute_requests.make_instance_group_body(request, self.project)
            return self._write(doing, "POST", f"{place}/instanceGroupManagers", group)
        except CloudProblem as problem:
            if problem.kind not in UNANSWERED:
                with contextlib.suppress(CloudProblem):
                    self.discard_parts(request.zone, request.name)
            raise

    def delete_queued_resource(self, zone: str, name: str, *, force: bool) -> None:  # noqa: ARG002
        """Start deleting an instance or a group; `force` applies only to the other API."""
        doing = f"delete `{name}`"
        for kind in ("instances", "instanceGroupManagers"):
            if self._describe(f"zones/{zone}/{kind}/{name}", _KINDS[kind]) is not None:
                self._write(doing, "DELETE", f"zones/{zone}/{kind}/{name}")
                return
        self.discard_parts(zone, name)

    def delete_node(self, zone: str, name: str) -> None:
        """Start deleting a node."""
        self.delete_queued_resource(zone, name, force=True)

    def discard_parts(self, zone: str, name: str) -> None:
        """Delete the template and policy this program created for a slice, if its group is gone."""
        if self._describe(f"zones/{zone}/instanceGroupManagers/{name}", InstanceGroup) is not None:
            return
        doing = f"delete what is left of `{name}`"
        region = f"regions/{find_region(zone)}"
        template = self._describe(f"global/instanceTemplates/{name}", InstanceTemplate)
        if template and template.our_zone == zone:
            self._write(doing, "DELETE", f"global/instanceTemplates/{name}")
        policy = self._describe(f"{region}/resourcePolicies/{name}", ResourcePolicy)
        if policy and policy.our_zone == zone:
            self._write(doing, "DELETE", f"{region}/resourcePolicies/{name}")

    def stop_node(self, zone: str, name: str) -> str:
        """Start stopping a TPU VM, and return the operation's name; slices cannot be stopped."""
        return self._write(f"stop `{name}`", "POST", f"zones/{zone}/instances/{name}/stop")

    def start_node(self, zone: str, name: str) -> str:
        """Start a stopped TPU VM, and return the operation's name."""
        return self._write(f"start `{name}`", "POST", f"zones/{zone}/instances/{name}/start")

    def operation(self, name: str) -> OperationState:
        """Return an operation's state; an operation unknown to Google counts as done."""
        row = self._describe(name, _Operation)
        if row is None or row.status != "DONE":
            return OperationState(done=row is None)
        return OperationState(done=True, problem=_problem_of(row, "finish what it was asked for"))

    def _find(self, zone: str, name: str) -> tuple[Sequence[QueuedResource], Sequence[TpuNode]]:
        """Return the request and nodes with this name in a zone, from an instance or a group."""
        resources = ComputeResources()
        instance = self._describe(f"zones/{zone}/instances/{name}", Instance)
        if instance is not None and instance.is_tpu and not instance.group:
            resources.instances.append(instance)
            return resources.list_tpus(self.project, self._clock.now())
        group = self._describe(f"zones/{zone}/instanceGroupManagers/{name}", InstanceGroup)
        region = f"regions/{find_region(zone)}"
        template_path = f"global/instanceTemplates/{name}"
        if group and "/instanceTemplates/" in group.instance_template:
            words = group.instance_template.split("/")  # a template may be regional
            template_path = "/".join(words[-3:] if words[-3] == "global" else words[-4:])
        template = self._describe(template_path, InstanceTemplate)
        policy = self._describe(f"{region}/resourcePolicies/{name}", ResourcePolicy)
        resources.templates += [template] if template else []
        resources.policies += [policy] if policy else []
        if group is not None:
            resources.groups.append(group)
            mine = self._list("instances", Instance)[0]
            resources.instances += [
                row for row in mine if (last_part(row.zone), row.group) == (zone, name)
            ]
            if error := self._group_error(zone, name):
                resources.group_errors[zone, name] = error
        return resources.list_tpus(self.project, self._clock.now())

    def _group_error(self, zone: str, name: str) -> str:
        """Return a group's last error, or "" if it has none."""
        path = self._path(f"zones/{zone}/instanceGroupManagers/{name}/listErrors")
        answer = _convert_unanswered_errors(
            f"list the errors of `{name}`",
            lambda: self._google.get(COMPUTE, path, _GroupErrors, maxResults=1),
        )
        return next((f"{row.error.code}: {row.error.message}" for row in answer.items), "")

    def _all_resources(self) -> tuple[ComputeResources, tuple[str, ...]]:
        """Return every resource in the project that may belong to a TPU, fetched concurrently."""
        with ThreadPoolExecutor(len(_KINDS)) as threads:
            instances = threads.submit(self._list, "instances", Instance)
            groups = threads.submit(self._list, "instanceGroupManagers", InstanceGroup)
            templates = threads.submit(self._list, "instanceTemplates", InstanceTemplate)
            policies = threads.submit(self._list, "resourcePolicies", ResourcePolicy)
        resources = ComputeResources(
            instances.result()[0], groups.result()[0], templates.result()[0], policies.result()[0]
        )
        asked = (instances, groups, templates, policies)
        silent = (zone for future in asked for zone in future.result()[1])
        return resources, tuple(dict.fromkeys(silent))

    def _list(self, kind: str, of: type[_Part]) -> tuple[list[_Part], tuple[str, ...]]:
        """Return all resources of a kind in all locations, and the locations that did not reply."""
        rows: list[_Part] = []
        silent: list[str] = []
        token = ""
        for _ in range(rest_client.MOST_PAGES):
            query = {**PAGES, **({"pageToken": token} if token else {})}
            path = self._path(f"aggregated/{kind}")
            page = _convert_unanswered_errors(
                f"list the {kind} of Compute Engine",
                lambda path=path, query=query: self._google.get(COMPUTE, path, _Page, **query),
            )
            for place in page.items.values():
                rows += _converted(place.get(kind, []), list[of])
            silent += map(last_part, page.unreachables)
            token = page.next_page_token
            if not token:
                return rows, tuple(silent)
        raise _problem_of_answer(UnansweredError("garbled", "too many pages"), f"list the {kind}")

    def _describe(self, path: str, of: type[_Answer]) -> _Answer | None:
        try:
            return self._google.get(COMPUTE, self._path(path), of)
        except UnansweredError as error:
            if error.reason == "missing":
                return None
            raise _problem_of_answer(error, f"describe `{last_part(path)}`") from error

    def _write(
        self,
        doing: str,
        method: Literal["POST", "DELETE"],
        path: str,
        body: dict[str, object] | None = None,
    ) -> str:
        """Send a change once, and return its operation's name, prefixed with its location."""
        row = _convert_unanswered_errors(
            doing, lambda: self._google.send(method, COMPUTE, self._path(path), _Operation, body)
        )
        if row.status == "DONE" and (problem := _problem_of(row, doing)):
            raise problem
        first, _, rest = path.partition("/")
        place = first if first == "global" else f"{first}/{rest.partition('/')[0]}"
        return f"{place}/operations/{row.name}"

    def _finish(self, operation: str) -> None:
        """Wait up to `OPERATION_S` for a short operation; raises CloudProblem if it failed."""
        began = self._clock.now()
        while True:
            ending = self.operation(operation)
            if ending.problem:
                raise ending.problem
            if ending.done or (self._clock.now() - began).total_seconds() > OPERATION_S:
                return
            self._clock.sleep(LOOK_S)

    def _path(self, path: str) -> str:
        return f"compute/v1/projects/{self.project}/{path}"


_KINDS: dict[str, type[Instance | InstanceGroup | InstanceTemplate | ResourcePolicy]] = {
    "instances": Instance,
    "instanceGroupManagers": InstanceGroup,
    "instanceTemplates": InstanceTemplate,
    "resourcePolicies": ResourcePolicy,
}


def open_rest_client(project: str) -> RestClient:
    """Return a client with the user's credentials; raises Problem if there are none."""
    address = rest_client.find_rest_test_server()
    found = credentials.find_credentials(project) if address is None else _anonymous()
    return RestClient(found, address=address, call_s=CALL_S, total_s=math.inf)


def _anonymous() -> object:
    from google.auth.credentials import AnonymousCredentials

    return AnonymousCredentials()


def _converted(value: object, kind: type[_Answer]) -> _Answer:
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _problem_of_answer(UnansweredError("garbled", str(error)), "list the TPUs") from error


def _convert_unanswered_errors(doing: str, ask: Callable[[], _Answer]) -> _Answer:
    """Call `ask` and return its result, converting UnansweredError to CloudProblem."""
    try:
        return ask()
    except UnansweredError as error:
        raise _problem_of_answer(error, doing) from error


def _problem_of_answer(error: UnansweredError, doing: str) -> CloudProblem:
    """Return the Problem for a call that Compute Engine refused or did not answer."""
    code = _GRPC_CODES.get(error.status)
    if _QUOTA_REASONS & {*error.error_reasons} or error.reason == "rate":
        code = EXHAUSTED
    if error.status == 0 or error.reason == "garbled":
        code = UNAVAILABLE
    if error.status >= 500:
        code = INTERNAL
    if error.reason == "credentials":
        code = 16
    text = error.text or str(error)
    return api_errors.make_cloud_problem(code or INVALID, text, f"Compute Engine did not {doing}")


def _problem_of(row: _Operation, doing: str) -> CloudProblem | None:
    """Return the Problem for a failed operation, or None if it did not fail."""
    if not row.error.errors:
        return None
    text = "\n".join(f"{one.code}: {one.message}" for one in row.error.errors)
    code = _GRPC_CODES.get(row.http_error_status_code, INTERNAL)
    return api_errors.make_cloud_problem(code, text, f"Compute Engine did not {doing}")
