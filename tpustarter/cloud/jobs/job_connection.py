"""Resolution of a name to a job and its workers, and the list of all jobs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tpustarter.cloud.api import project_and_zone, workers
from tpustarter.cloud.api.api_client import OfferingClient, ProjectClient
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import ResourceList, TpuNode
from tpustarter.cloud.api.workers import Choice, Worker
from tpustarter.cloud.delete.ownership import format_creation_time
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_records, job_start, job_text
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import TpuJob, WorkerJobState
from tpustarter.cloud.jobs.job_start import JobRequest
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings, raise_for_workers
from tpustarter.core.problem import ExitCode, Problem

JobState = Literal[
    "running", "ended", "failed", "stopped", "lost", "not-started", "not-seen", "given-back"
]


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
    client: ProjectClient,
    project: Project,
    name: str,
    typed: TypedConnection,
    choice: Choice = None,
) -> tuple[list[Worker], ConnectionSettings]:
    """Return a TPU's workers, and the route to them; raises Problem if one cannot be reached."""
    route = typed.make_route(project, _find_program(typed.via or "gcloud"))
    chosen = workers.choose_workers(workers.find_nodes(client, name, typed.zone), choice)
    _require_reachable(chosen, route.via, iap=route.iap)
    return chosen, route


def _find_program(name: str) -> str:
    """Return the path of gcloud or ssh; raises Problem with installation advice if missing."""
    if path := shutil.which(name):
        return str(Path(path).absolute())
    if name == "gcloud":
        raise Problem(
            "`gcloud` is not installed on this machine, or not on PATH",
            hint="install it as https://cloud.google.com/sdk/docs/install says, or add `--via ssh` "
            "where the TPU has external addresses",
            code=ExitCode.USAGE,
        )
    raise Problem(
        f"`{name}` is not on PATH",
        hint="`sudo apt install openssh-client` installs it on Debian and Ubuntu",
        code=ExitCode.USAGE,
    )


def _require_reachable(chosen: Sequence[Worker], via: str, *, iap: bool) -> None:
    """Raise Problem if the workers cannot be reached from this machine."""
    node = chosen[0].node
    if via == "ssh":
        if iap or any(worker.needs_iap for worker in chosen):
            _find_program("gcloud")  # it opens the tunnel
        elif not all(worker.address for worker in chosen):
            raise Problem(
                f"Google lists no address for `{node.name}`",
                hint="leave `--via ssh` out, because gcloud finds the address itself",
                code=ExitCode.BUSY,
            )
    if worker_connection.key_file().exists() or (via == "gcloud" and len(chosen) == 1):
        return
    command = worker_connection.build_login_command(node, "--command=true")
    why = "with ssh alone" if via == "ssh" else "with several workers at a time"
    raise Problem(
        f"`{worker_connection.KEY}` is not there, and gcloud makes it only when it connects: "
        f"{why} that does not work",
        hint=f"connect once with `{command}`",
        code=ExitCode.USAGE,
    )


def make_placeholder_worker(
    name: str, project: Project, typed: TypedConnection, number: int = 0
) -> Worker:
    """Return a worker of a TPU, with a placeholder for its address."""
    zone = project_and_zone.find_zone(typed.zone) or "ZONE"
    addresses = ("EXTERNAL_ADDRESS",) * (number + 1)
    node = TpuNode(
        project.name, zone, name, "", "READY", workers=number + 1, external_addresses=addresses
    )
    return Worker(node, number, f"w{number}")


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
        if found := _adopt(chosen, route, name, id_):
            return TpuJob(found, chosen, route)
        if record is None:
            raise Problem(
                f"the workers of `{name}` know no job" + (f" called `{id_}`" if id_ else ""),
                hint=f"`tpustarter tpu job list {name}` shows those that they know",
                code=ExitCode.USAGE,
            )
        problem = Problem(
            f"`{name}` is another TPU by now, which has no job `{record.id}`",
            hint=f"`tpustarter tpu job logs {name}` shows the logs that are here",
            code=ExitCode.USAGE,
        )
        return TpuJob(record, (), route, problem)
    return TpuJob(record, chosen, route)


def load_reachable_job(
    client: OfferingClient, project: Project, name: str, id_: str | None, typed: TypedConnection
) -> TpuJob:
    """Return a job whose workers can be called; raises Problem if there are none."""
    job = load_job(client, project, name, id_, typed)
    if job.absence:
        raise job.absence
    return job


def _blank_record(chosen: Sequence[Worker], route: ConnectionSettings, name: str) -> JobRecord:
    record = job_start.make_record(JobRequest(name, ()), chosen, route)
    return replace(record, id="", phase="running")


def _adopt(
    chosen: Sequence[Worker], route: ConnectionSettings, name: str, id_: str | None
) -> JobRecord | None:
    """Save and return the record of a job that another machine started; None without a match."""
    blank = _blank_record(chosen, route, name)
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
            yield one, TpuJob(_blank_record(chosen, route, one), chosen, route)


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

    def words(self) -> list[str]:
        """Return lines that describe the job's state."""
        lines = list(job_text.group_states(self.states))
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
