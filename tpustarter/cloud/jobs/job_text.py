"""Texts about a job for both front ends: what is sent, what runs and how it ended.

They contain file names and Google's texts unescaped, so the caller must escape them for a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.billing import cost
from tpustarter.cloud.jobs import remote_command_text
from tpustarter.cloud.jobs.job_completion import (
    ResultsFetched,
    TpuDeleted,
    TpuDeletionStarted,
    TpuRecreationStarted,
)
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import ConnectionChanged, WorkerEnvironment, WorkerJobState
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.text import phrases

SHOWN_FILES = 5
"""Number of left-out files listed by name for each reason."""


def format_size(size: int) -> str:
    """Return a number of bytes in the unit that suits it, such as `1.5 MiB`."""
    if size < 1 << 20:
        return f"{size / 1024:.1f} KiB"
    return f"{size / (1 << 20):.1f} MiB" if size < 1 << 30 else f"{size / (1 << 30):.1f} GiB"


def describe_files(files: JobFiles) -> Iterator[str]:
    """Yield a line about the files that are sent, and one per reason to leave others out."""
    why = "those that git knows or doesn't ignore"
    if not files.is_git:
        why = "all, because it is in no git repository"
    count = phrases.format_count(len(files.paths), "file")
    folder = "this folder" if files.folder == Path() else files.folder
    yield f"{count} ({format_size(files.bytes)}) of {folder}: {why}"
    reasons = Counter(one.why for one in files.left_out)
    for reason, number in reasons.items():
        names = [one.path for one in files.left_out if one.why == reason]
        shown = ", ".join(names[:SHOWN_FILES])
        rest = f" and {number - SHOWN_FILES} more" if number > SHOWN_FILES else ""
        yield f"left out, {reason}: {shown}{rest}"


def describe_workers(name: str, workers: Sequence[Worker]) -> str:
    """Return a phrase for a job's workers. An empty sequence means that they aren't known yet."""
    if not workers:
        return f"every worker of {name}"
    return f"{name}, {workers[0].node.zone}: {phrases.format_count(len(workers), 'worker')}"


def describe_environment(environment: WorkerEnvironment) -> str:
    """Return a phrase for the packages and the folder of an environment on the workers."""
    return f"{' '.join(environment.wheel)} in ~/{environment.folder}, or finds it there"


def describe_recreation(name: str, times: int) -> str:
    """Return a clause about deleting a TPU and requesting it again after a pre-emption."""
    count = phrases.format_count(times, "time")
    return f"deletes {name} and asks for it anew after a pre-emption, {count}"


def describe_cost(nodes: Sequence[TpuNode]) -> str:
    """Return a phrase for the hourly cost of a TPU's chips."""
    unique = list(dict.fromkeys(nodes))
    estimates = cost.estimate_costs(unique, WallClock().now(), trc_grant.find_grant())
    known = [one.usd_per_hour for one in estimates if one.usd_per_hour is not None]
    if len(known) < len(unique):
        return "a price that is not known here; `tpustarter tpu cost` says why"
    if not sum(known):
        return "nothing for chips, which the TRC grant covers"
    return f"at most {sum(known):,.2f} USD for chips with every hour until the TPU is deleted"


def describe_state(state: WorkerJobState) -> str:
    """Return a phrase for the state of a job on one worker."""
    if state.state == "ended" and state.is_stopped:
        return "was stopped"
    if state.state == "ended":
        took = _duration(state.began, state.ended)
        return f"ended with {state.code}" + (f" after {took}" if took else "")
    if state.state == "running":
        took = _duration(state.began, WallClock().now().timestamp())
        return f"started {took} ago" if took else "runs"
    if state.state == "placed":
        return "has the folder, but the command was not started"
    if state.state == "gone":
        return f"is gone: {state.why}"
    return "was restarted while it ran" if state.restarted else "was killed, and left no exit code"


def _duration(began: float | None, ended: float | None) -> str:
    if began is None or ended is None:
        return ""
    return phrases.format_duration(max(0.0, ended - began))


def group_states(states: Sequence[WorkerJobState]) -> Iterator[str]:
    """Yield each distinct state with the workers that share it."""
    found: dict[str, list[str]] = {}
    for state in states:
        found.setdefault(describe_state(state), []).append(state.worker)
    for what, labels in found.items():
        yield f"{remote_command_text.join_worker_names(labels)} {what}"


Step = ConnectionChanged | ResultsFetched | TpuDeletionStarted | TpuDeleted | TpuRecreationStarted
"""Events of a job that are shown as sentences."""


def describe_job_event(event: Step) -> Iterator[str]:
    """Yield the sentences that describe an event of a job."""
    match event:
        case ConnectionChanged(worker, lost, is_final):
            text = lost or "is connected again"
            yield f"{worker} {text}" + ("; trying again" if lost and not is_final else "")
        case ResultsFetched(count, size, target):
            yield f"{phrases.format_count(count, 'file')} ({format_size(size)}) in {target}"
        case TpuDeletionStarted(spent=spent):
            yield spent
        case TpuDeleted(record):
            yield f"`{record.tpu}` was given back."
        case TpuRecreationStarted(record, spent):
            yield spent
            left = record.again - 1
            after = f"at most {phrases.format_count(left, 'more time')}" if left else "not again"
            yield f"`{record.tpu}` is asked for anew; after that {after}."


def describe_record(record: JobRecord) -> str:
    """Return a phrase for a job's last recorded state, for workers that were not queried."""
    if record.phase in ("starting", "running"):
        is_begun = record.phase == "running"
        return "was running when it was last seen" if is_begun else "was being started"
    end = "was stopped" if record.is_stopped else f"ended with {record.code}"
    return f"{end}, and its TPU was given back" if record.phase == "given-back" else end
