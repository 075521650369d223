"""The end of a job: its TPU, and no other, is given back once the results are safe."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec

from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.clock import Clock, WallClock
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.billing import cost
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.events import Event
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.delete import ownership, removal
from tpustarter.cloud.delete.removal import DeletionPlan
from tpustarter.cloud.jobs import job_records, job_run
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import TpuJob, WorkerJobState
from tpustarter.cloud.jobs.worker_calls import raise_for_workers
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases

REACHED_S = 600.0
"""Seconds to wait for the workers of a new TPU to accept connections."""
REACHED_PAUSE_S = 5.0
KILLED_CODES = (None, 137, 143)
"""Exit codes that a machine's shutdown can cause: none, or those of SIGKILL and SIGTERM."""
PREEMPTION_QUERIES = 4
"""Number of queries to Google for a pre-emption after such an exit code."""
QUERY_PAUSE_S = 10.0


def require_safe_results(record: JobRecord, states: Sequence[WorkerJobState], fetched: int) -> None:
    """Raise Problem if the TPU may still run the job or hold results that were not fetched.

    The TPU is then not deleted. `fetched` is the number of results already fetched to this machine.
    """
    missing = len(record.workers) - len(states)
    running = sum(one.state in ("running", "placed") for one in states)
    if missing or running:
        count = phrases.format_count(missing or running, "worker")
        raise _kept_problem(record, f"{count} may still run its job")
    if record.fetch and not fetched and all(one.code == 0 for one in states):
        patterns = phrases.join_words([f"`{one}`" for one in record.fetch], "or")
        raise _kept_problem(record, f"the job has ended well, and no file on it matches {patterns}")


def _kept_problem(record: JobRecord, why: str) -> Problem:
    return Problem(
        f"`{record.tpu}` was not given back, because {why}",
        hint=f"it is still billed: fetch what you need with `tpustarter tpu job fetch {record.tpu} "
        f"PATTERN`, then run `tpustarter tpu delete {record.tpu}`",
        code=ExitCode.INCONCLUSIVE,
    )


def find_deletion_plan(client: OfferingClient, job: TpuJob) -> DeletionPlan | None:
    """Return the deletion plan for a job's TPU, or None if the TPU is gone.

    Raises:
        Problem: Another TPU has its name now, or its API refuses, or its zone cannot be reached.
    """
    record, api = job.record, job.workers[0].node.api
    queued, nodes = client.of(api).resources(record.zone)
    plans = removal.find_deletion_plans(queued.items, nodes.items, record.tpu)
    if not plans and record.zone in (*queued.unreachable, *nodes.unreachable):
        raise Problem(
            f"Google could not reach `{record.zone}`, so `{record.tpu}` was not deleted",
            hint="it may still be billed: `tpustarter tpu list` shows it",
            code=ExitCode.INCONCLUSIVE,
        )
    if not plans:
        return None
    (plan, *others) = plans
    if others or not _is_of_job(plan, record):
        raise Problem(
            f"`{record.tpu}` is not the TPU that the job ran on, so it was not deleted",
            hint="`tpustarter tpu list` shows it",
            code=ExitCode.INCONCLUSIVE,
        )
    return plan


def _is_of_job(plan: DeletionPlan, record: JobRecord) -> bool:
    """Return whether the job ran on a plan's TPU, judged by its creation time."""
    if not record.created:
        return True
    created = [node.created.isoformat() for node in plan.nodes if node.created]
    if plan.nodes:
        return record.created in created
    # A pre-empted TPU has lost its nodes, and its request is older than they were.
    asked = plan.queued_resource and plan.queued_resource.created
    return not asked or asked <= datetime.fromisoformat(record.created)


def estimate_spending(nodes: Sequence[TpuNode], now: datetime) -> float | None:
    """Return an upper bound on the cost of a TPU's chips so far, in USD; None if unknown."""
    # A pre-empted node costs nothing now, but it counts as READY until the loss was seen.
    there = [replace(node, state="READY") for node in dict.fromkeys(nodes)]
    estimates = cost.estimate_costs(there, now, trc_grant.find_grant())
    known = [one.usd for one in estimates if one.usd is not None]
    return sum(known) if known and len(known) == len(estimates) else None


def describe_spending(job: TpuJob, now: datetime) -> str:
    """Return a sentence with the cost of a job so far, including its earlier TPUs."""
    usd = estimate_spending([worker.node for worker in job.workers], now)
    if usd is None:
        return "What its chips have cost is not known here; `tpustarter tpu cost` says why."
    return f"Its chips have cost at most {job.record.spent_usd + usd:,.2f} USD until now."


def save_tpu_request(client: OfferingClient, job: TpuJob) -> None:
    """Add to a job's record what is needed to request its TPU again.

    Raises:
        Problem: The request is not known.
    """
    request = find_request(client, job)
    if request.api == "compute":  # a pre-emption deletes the instance
        tpu = {"type": request.type.name}
        job.record = replace(job.record, request=msgspec.to_builtins(request) | tpu)


def find_request(client: OfferingClient, job: TpuJob) -> TpuRequest:
    """Return the request that created a job's TPU; raises Problem if it is not known."""
    node, kept = job.workers[0].node, job.record.request
    if kept:
        tpu = msgspec.to_builtins(tpu_request.parse_type(str(kept["type"])))
        return msgspec.convert({**kept, "type": tpu}, TpuRequest)
    request = None
    if node.queued_resource:
        request = client.of(node.api).request_of(node.zone, node.queued_resource)
    if request is None:
        raise Problem(
            f"`{job.record.tpu}` was not made by tpustarter or by a queued resource that is still "
            "there, so it cannot be asked for again",
            hint="`tpustarter tpu create` makes one that can",
            code=ExitCode.USAGE,
        )
    return request


def require_free_recreation(job: TpuJob, request: TpuRequest, now: datetime) -> None:
    """Raise Problem if a TPU that the TRC grant paid for would be billed now, after its end.

    A TPU outside the grant was paid for before the job, and its user has asked for more.
    """
    grant, node = trc_grant.load_grant(), job.workers[0].node
    if grant is None or not trc_grant.is_resource_covered(grant, node):
        return
    is_paid = grant.end and node.created and node.created.date() >= grant.end
    judgement = trc_grant.judge_request(request, grant, None, now)
    if judgement.reason == "ended" and not is_paid:
        raise Problem(
            f"`{request.name}` is not asked for anew, because Google would bill it: "
            f"{judgement.why}",
            hint="`tpustarter tpu create` with `--outside-grant` makes one that you pay for",
            code=ExitCode.USAGE,
        )


def is_pre_empted(
    client: OfferingClient, job: TpuJob, states: Sequence[WorkerJobState], clock: Clock
) -> bool:
    """Return whether the TPU was pre-empted while the job ran.

    Its programs may be killed some seconds before Google reports the pre-emption, and its
    connections may be lost later still.
    """
    is_gone = any(one.state == "gone" for one in states)
    if not is_gone and all(one.code == 0 or one.is_stopped for one in states):
        return False
    is_killed = is_gone or any(one.code in KILLED_CODES for one in states)
    return query_preemption(client, job, clock, PREEMPTION_QUERIES if is_killed else 1)


def query_preemption(
    client: OfferingClient, job: TpuJob, clock: Clock, queries: int = PREEMPTION_QUERIES
) -> bool:
    """Ask Google, with pauses between the queries, whether a job's TPU was pre-empted.

    Returns False without an answer once the job's calls are cancelled.
    """
    for number in range(queries):
        if number:
            clock.sleep(QUERY_PAUSE_S)
        if not job.is_cancelled and _has_preemption(client, job):
            return True
    return False


def _has_preemption(client: OfferingClient, job: TpuJob) -> bool:
    """Return whether Google pre-empted one of a job's machines since their creation.

    Otherwise somebody deleted them, or the time of a flex-start VM was over. In the Cloud TPU API
    the request of a pre-empted TPU stays, as does that of a TPU whose node alone was deleted.
    """
    node = job.workers[0].node
    if node.api != "compute":
        if not any(job_run.explain_lost_worker(client, worker) for worker in job.workers):
            return False
        request = client.of(node.api).queued_resource(node.zone, node.queued_resource)
        return request is not None and request.state != "DELETING" and not request.is_by_user
    times = client.of(node.api).list_preemptions(node.zone)
    found = [times[one.host] for one in job.workers if one.host in times]
    return any(node.created is None or time >= node.created for time in found)


def wait_until_reached(job: TpuJob, clock: Clock) -> None:
    """Wait until every worker of a new TPU accepts connections; raises Problem after a timeout.

    Google reports the TPU as ACTIVE before its SSH servers run.
    """
    until = clock.now() + timedelta(seconds=REACHED_S)
    while True:
        _, errors = job.read_states()
        if not errors:
            return
        if clock.now() > until:
            what = f"not every worker of the new `{job.record.tpu}` was reached"
            hint = f"it is billed: `tpustarter tpu delete {job.record.tpu}` gives it back"
            raise_for_workers(errors, what, hint)
        clock.sleep(REACHED_PAUSE_S)


def move_job(job: TpuJob, new: Sequence[Worker]) -> None:
    """Move a job and its archive to a new TPU under a new id, and save the record."""
    began, before = WallClock().now(), job.record
    node = new[0].node
    usd = estimate_spending([worker.node for worker in job.workers], began) or 0.0
    record = replace(
        before,
        id=f"{before.tpu}-{began:%Y%m%d-%H%M%S}",
        workers=tuple(worker.label for worker in new),
        created=ownership.format_creation_time(node),
        began=began.isoformat(timespec="seconds"),
        phase="starting",
        code=None,
        is_fetched=False,
        again=before.again - 1,
        spent_usd=before.spent_usd + usd,
    )
    locations.make_folder(record.log_folder)
    with locations.convert_write_errors(record.archive):
        before.archive.replace(record.archive)
    job.record, job.workers = job_records.save_job(record), new


def delete_job_tpu(
    client: OfferingClient, job: TpuJob, plan: DeletionPlan | None, clock: Clock
) -> Generator[Event, None, None]:
    """Delete a job's TPU and yield the events; raises Problem if Google still lists it."""
    if plan and not (yield from removal.carry_out_deletion(client, plan, clock)):
        raise Problem(
            f"`{job.record.tpu}` is still listed by Google",
            hint="`tpustarter tpu list` shows it until it is gone",
            code=ExitCode.INCONCLUSIVE,
        )
