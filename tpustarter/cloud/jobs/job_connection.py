"""Resolution of a name to a job and its workers, and the list of all jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypedDict

from tpustarter.cloud.api import project_and_zone, workers
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import ResourceList, TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.delete.ownership import format_creation_time
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_records, job_text, remote_command, remote_command_text
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import TpuJob, WorkerJobState
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings, raise_for_workers
from tpustarter.core.problem import ExitCode, Problem

JobState = Literal[
    "running", "ended", "failed", "stopped", "lost", "not-started", "not-seen", "given-back"
]


class ConnectionFields(TypedDict):
    """The values of `connection_options`, and the zone."""

    zone: str | None
    via: str | None
    iap: bool
    user: str | None


@dataclass(frozen=True)
class TypedConnection:
    """The connection options as typed."""

    zone: str | None
    via: str | None = None
    iap: bool = False
    user: str | None = None

    def complete(self, record: JobRecord | None) -> TypedConnection:
        """Return the options, with omitted ones taken from a job's record; raises Problem."""
        worker_connection.validate_user(self.user)
        if record is None:
            return replace(self, via=self.via or "gcloud")
        return TypedConnection(
            self.zone, self.via or record.via, self.iap or record.iap, self.user or record.user
        )

    def make_route(self, project: Project, program: str = "") -> ConnectionSettings:
        """Return the route to the workers."""
        return ConnectionSettings(project, program, self.via or "gcloud", self.iap, self.user)


def find_workers(
    client: OfferingClient, project: Project, name: str, typed: TypedConnection
) -> tuple[list[Worker], ConnectionSettings]:
    """Return all of a TPU's workers, and the route to them; raises Problem if there is none."""
    chosen = workers.choose_workers(workers.find_nodes(client, name, typed.zone))
    route = typed.make_route(project, remote_command.find_executable(typed.via or "gcloud"))
    remote_command_text.require_reachable_workers(chosen, route.via, iap=route.iap)
    return chosen, route


def make_placeholder_worker(name: str, project: Project, typed: TypedConnection) -> Worker:
    """Return a TPU's first worker, with a placeholder for its address."""
    zone = project_and_zone.find_zone(typed.zone) or "ZONE"
    addresses = ("EXTERNAL_ADDRESS",)
    node = TpuNode(project.name, zone, name, "", "READY", workers=1, external_addresses=addresses)
    return Worker(node, 0, "w0")


def load_job(
    client: OfferingClient, project: Project, name: str, id_: str | None, typed: TypedConnection
) -> TpuJob:
    """Return a job from this machine's records, or else from the TPU's workers.

    It has no workers, but a reason, if its TPU is not known to exist and to be READY, or if another
    TPU has its name.

    Raises:
        Problem: Neither this machine nor the workers have the job.
    """
    record = job_records.find_job(client.project, name, id_)
    try:
        chosen, route = find_workers(client, project, name, typed.complete(record))
    except Problem as problem:
        if record is None or not any(path.exists() for path in record.logs):
            raise
        return TpuJob(record, (), typed.make_route(project), problem)
    if record is None or record.created != format_creation_time(chosen[0].node):
        found = _adopt(client, chosen, route, name, id_)
        if found or record is None:
            return TpuJob(_require(found, name, id_), chosen, route)
        return TpuJob(record, (), route, _make_other_tpu_problem(record))
    return TpuJob(record, chosen, route)


def load_reachable_job(
    client: OfferingClient, project: Project, name: str, id_: str | None, typed: TypedConnection
) -> TpuJob:
    """Return a job whose workers can be called; raises Problem if there are none."""
    job = load_job(client, project, name, id_, typed)
    if job.absence:
        raise job.absence
    return job


def _make_other_tpu_problem(record: JobRecord) -> Problem:
    return Problem(
        f"`{record.tpu}` is another TPU by now, which has no job `{record.id}`",
        hint=f"`tpustarter tpu job logs {record.tpu}` shows the logs that are here",
        code=ExitCode.USAGE,
    )


def _require(record: JobRecord | None, name: str, id_: str | None) -> JobRecord:
    if record is None:
        raise Problem(
            f"the workers of `{name}` know no job" + (f" called `{id_}`" if id_ else ""),
            hint=f"`tpustarter tpu job list {name}` shows those that they know",
            code=ExitCode.USAGE,
        )
    return record


def _blank_record(
    client: OfferingClient, chosen: list[Worker], route: ConnectionSettings, name: str
) -> JobRecord:
    return JobRecord(
        id="",
        project=client.project,
        zone=chosen[0].node.zone,
        tpu=name,
        command=(),
        workers=tuple(worker.label for worker in chosen),
        created=format_creation_time(chosen[0].node),
        began=job_text.now().isoformat(timespec="seconds"),
        via=route.via,
        iap=route.iap,
        user=route.user,
        phase="running",
    )


def _adopt(
    client: OfferingClient,
    chosen: list[Worker],
    route: ConnectionSettings,
    name: str,
    id_: str | None,
) -> JobRecord | None:
    """Save and return the record of a job that another machine started; None without a match."""
    blank = _blank_record(client, chosen, route, name)
    states, errors = TpuJob(blank, chosen, route).read_states()
    raise_for_workers(errors, f"not every worker of `{name}` was reached", None)
    matches = [one for one in states if id_ in (None, one.job)]
    if not matches:
        return None
    return job_records.save_job(_adopt_job(blank, matches))


def _connect_tpus(
    client: OfferingClient, project: Project, name: str | None, typed: TypedConnection
) -> Iterator[tuple[str, TpuJob | Problem]]:
    """Yield the named TPU, or each READY one, with its workers or the Problem in reaching them.

    A zone that Google could not reach takes the place of the TPUs in it.
    """
    listing = ResourceList[TpuNode](()) if name else workers.list_nodes(client, typed.zone)
    for zone in listing.unreachable:
        yield zone, Problem("it did not answer, so jobs on TPUs there are not in this list")
    for one in [name] if name else list(_ready_names(listing.items)):
        known = job_records.find_job(client.project, one)
        try:
            chosen, route = find_workers(client, project, one, typed.complete(known))
        except Problem as problem:
            if name and known is None:
                raise
            yield one, problem
        else:
            yield one, TpuJob(_blank_record(client, chosen, route, one), chosen, route)


def _ready_names(nodes: Sequence[TpuNode]) -> Iterator[str]:
    """Yield the names of TPUs whose slices are all READY."""
    groups: dict[str, list[TpuNode]] = {}
    for node in nodes:
        several = sum(one.queued_resource == node.queued_resource for one in nodes) > 1
        key = node.queued_resource if several and node.queued_resource else node.name
        groups.setdefault(key, []).append(node)
    for name, group in groups.items():
        if all(node.state == "READY" for node in group):
            yield name


@dataclass(frozen=True)
class ListedJob:
    """A job as its workers report it, or as this machine last saw it."""

    record: JobRecord
    states: tuple[WorkerJobState, ...] = ()
    """Its state on each worker; empty if they were not queried or no longer have the job."""

    @property
    def state(self) -> JobState:
        """The state of the job as a whole, from its workers' states or else from its record."""
        if self.record.phase == "given-back":
            return "given-back"
        if not self.states:
            end = "stopped" if self.record.is_stopped else "failed" if self.record.code else "ended"
            return end if self.record.phase == "ended" else "not-seen"
        found = {one.state for one in self.states}
        if "running" in found:
            return "running"
        if any(one.is_stopped for one in self.states):
            return "stopped"
        if found & {"lost", "gone"}:
            return "lost"
        if "placed" in found:
            return "not-started"
        return "failed" if any(one.code for one in self.states) else "ended"

    def words(self, now: datetime) -> list[str]:
        """Return lines that describe the job's state."""
        lines = list(job_text.group_states(self.states, now))
        return lines or [job_text.describe_record(self.record)]


@dataclass(frozen=True)
class JobList:
    """Jobs, and the reasons why some workers were not reached."""

    jobs: tuple[ListedJob, ...]
    unreached: tuple[str, ...] = ()


def list_known_jobs(project: str, name: str | None = None) -> tuple[ListedJob, ...]:
    """Return a project's jobs from this machine's records; only one TPU's if it is named."""
    return tuple(
        ListedJob(one)
        for one in job_records.read_jobs()
        if one.project == project and name in (None, one.tpu)
    )


def list_jobs(
    client: OfferingClient, project: Project, name: str | None, typed: TypedConnection
) -> JobList:
    """Return the jobs that workers report, and those only on record here; raises Problem."""
    known = {one.record.id: one for one in list_known_jobs(client.project, name)}
    jobs: list[ListedJob] = []
    unreached: list[str] = []
    for tpu, job in _connect_tpus(client, project, name, typed):
        if isinstance(job, Problem):
            unreached.append(f"{tpu}: {job.summary}")
            continue
        states, errors = job.read_states()
        unreached += (f"{tpu} {one.label} {why.what}" for one, why in errors.items())
        for id_ in dict.fromkeys(one.job for one in states):
            mine = tuple(one for one in states if one.job == id_)
            before = known.pop(id_, None)
            record = before.record if before else _adopt_job(job.record, mine)
            jobs.append(ListedJob(record, mine))
    return JobList((*jobs, *known.values()), tuple(unreached))


def _adopt_job(blank: JobRecord, states: Sequence[WorkerJobState]) -> JobRecord:
    """Return a record for a job that another machine started."""
    return replace(blank, id=states[-1].job, command=states[-1].command)
