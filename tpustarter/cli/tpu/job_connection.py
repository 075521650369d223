"""Resolution of a name to a job and its workers, for the verbs of `tpustarter tpu job`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar

import click

from tpustarter.cloud.api import project_and_zone, workers
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_records, job_text, remote_command, remote_command_text
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import TpuJob
from tpustarter.cloud.jobs.worker_calls import Route, raise_for_workers
from tpustarter.core.problem import ExitCode, Problem

_Function = TypeVar("_Function", bound=Callable[..., object])


def route_options(function: _Function) -> _Function:
    """Add the connection options; without them, those of the job's start apply."""
    for option in (
        click.option("--user", metavar="NAME", help="The user to log in as."),
        click.option(
            "--iap", is_flag=True, help="Connect through Identity-Aware Proxy, even if not needed."
        ),
        click.option(
            "--via",
            type=click.Choice(["gcloud", "ssh"]),
            help="The program that connects.  [default: gcloud]",
        ),
    ):
        function = option(function)
    return function


class RouteFields(TypedDict):
    """The values of `route_options`, and the zone."""

    zone: str | None
    via: str | None
    iap: bool
    user: str | None


@dataclass(frozen=True)
class TypedRoute:
    """The connection options as typed."""

    zone: str | None
    via: str | None
    iap: bool
    user: str | None

    def complete(self, record: JobRecord | None) -> TypedRoute:
        """Return the options, with omitted ones taken from a job's start; raises Problem."""
        worker_connection.check_user(self.user)
        if record is None:
            return replace(self, via=self.via or "gcloud")
        return TypedRoute(
            self.zone, self.via or record.via, self.iap or record.iap, self.user or record.user
        )

    def make_route(self, project: Project, program: str = "") -> Route:
        """Return the route to the workers."""
        return Route(project, program, self.via or "gcloud", self.iap, self.user)


def find_workers(
    client: OfferingClient, project: Project, name: str, typed: TypedRoute
) -> tuple[list[Worker], Route]:
    """Return all of a TPU's workers, and the route to them; raises Problem if there is none."""
    chosen = workers.choose_workers(workers.find_nodes(client, name, typed.zone))
    route = typed.make_route(project, remote_command.find_program(typed.via or "gcloud"))
    remote_command_text.require_reachable_workers(chosen, route.via, iap=route.iap)
    return chosen, route


def make_placeholder(name: str, project: Project, typed: TypedRoute) -> Worker:
    """Return a TPU's first worker, with a placeholder for its address."""
    zone = project_and_zone.find_zone(typed.zone) or "ZONE"
    addresses = ("EXTERNAL_ADDRESS",)
    node = TpuNode(project.name, zone, name, "", "READY", workers=1, external_addresses=addresses)
    return Worker(node, 0, "w0")


def open_job(
    client: OfferingClient, project: Project, name: str, id_: str | None, typed: TypedRoute
) -> TpuJob:
    """Return a job from this machine's records, or else from the TPU's workers.

    It has no workers if its TPU no longer exists, or if another TPU has its name.

    Raises:
        Problem: The job is known neither to this machine nor to the workers.
    """
    record = job_records.find_job(client.project, name, id_)
    try:
        chosen, route = find_workers(client, project, name, typed.complete(record))
    except Problem:
        if record is None or not any(path.exists() for path in record.logs):
            raise
        return TpuJob(record, (), typed.make_route(project))
    if record is None or record.created != _creation(chosen[0].node):
        found = _adopt(client, chosen, route, name, id_)
        if found or record is None:
            return TpuJob(_require(found, name, id_), chosen, route)
        return TpuJob(record, (), route)
    return TpuJob(record, chosen, route)


def _creation(node: TpuNode) -> str:
    return node.created.isoformat() if node.created else ""


def _require(record: JobRecord | None, name: str, id_: str | None) -> JobRecord:
    if record is None:
        raise Problem(
            f"the workers of `{name}` know no job" + (f" called `{id_}`" if id_ else ""),
            hint=f"`tpustarter tpu job list {name}` shows those that they know",
            code=ExitCode.USAGE,
        )
    return record


def _blank_record(
    client: OfferingClient, chosen: list[Worker], route: Route, name: str
) -> JobRecord:
    return JobRecord(
        id="",
        project=client.project,
        zone=chosen[0].node.zone,
        tpu=name,
        command=(),
        workers=tuple(worker.label for worker in chosen),
        created=_creation(chosen[0].node),
        began=job_text.now().isoformat(timespec="seconds"),
        via=route.via,
        iap=route.iap,
        user=route.user,
        phase="running",
    )


def _adopt(
    client: OfferingClient, chosen: list[Worker], route: Route, name: str, id_: str | None
) -> JobRecord | None:
    """Return the record of a job started from another machine, and save it."""
    blank = _blank_record(client, chosen, route, name)
    states, errors = TpuJob(blank, chosen, route).read_states()
    raise_for_workers(errors, f"not every worker of `{name}` was reached", None)
    matches = [one for one in states if id_ in (None, one.job)]
    if not matches:
        return None
    last = matches[-1]
    return job_records.save_job(replace(blank, id=last.job, command=last.command))


def connect_tpus(
    client: OfferingClient, project: Project, name: str | None, typed: TypedRoute
) -> Iterator[tuple[str, TpuJob | Problem]]:
    """Yield the named TPU, or each READY one, with its workers or the Problem in reaching them."""
    for one in [name] if name else list(_ready_names(client, typed.zone)):
        known = job_records.find_job(client.project, one)
        try:
            chosen, route = find_workers(client, project, one, typed.complete(known))
        except Problem as problem:
            if name and known is None:
                raise
            yield one, problem
        else:
            yield one, TpuJob(_blank_record(client, chosen, route, one), chosen, route)


def _ready_names(client: OfferingClient, zone: str | None) -> Iterator[str]:
    """Yield the names of TPUs whose slices are all READY."""
    nodes = workers.list_nodes(client, zone).items
    groups: dict[str, list[TpuNode]] = {}
    for node in nodes:
        several = sum(one.queued_resource == node.queued_resource for one in nodes) > 1
        key = node.queued_resource if several and node.queued_resource else node.name
        groups.setdefault(key, []).append(node)
    for name, group in groups.items():
        if all(node.state == "READY" for node in group):
            yield name
