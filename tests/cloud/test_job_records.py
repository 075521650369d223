"""The records of jobs, their logs here, and the request that asks for their TPU once more."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from google.cloud import tpu_v2

from tests.cloud.test_job_calls import NODE
from tests.support.fake_cloud import FakeClock
from tpustarter.cloud.api import message_conversion
from tpustarter.cloud.api.resources import QueuedResource, ResourceList, TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_request import DataDisk, TpuRequest
from tpustarter.cloud.delete.removal import DeletionPlan
from tpustarter.cloud.jobs import job_end, job_records, job_run
from tpustarter.cloud.jobs.job_connection import ListedJob
from tpustarter.cloud.jobs.job_records import JobLog, JobRecord
from tpustarter.cloud.jobs.job_run import TpuJob, WorkerJobState
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.cloud.trc.grant import Grant, GrantAllowance
from tpustarter.core import state
from tpustarter.core.problem import Problem

RECORD = JobRecord(
    "bert-1",
    "my-project",
    "us-central1-b",
    "bert",
    ("python", "train.py"),
    ("w0", "w1"),
    "2026-11-22T08:00:00+00:00",
    "2026-11-29T22:00:00+00:00",
    give_back=True,
)
DONE = WorkerJobState("w0", "bert-1", "bert", "ended", 0)


def test_record_is_found_again_and_forgotten() -> None:
    """The last one on a TPU, or the one that is named; rows of another version stay."""
    job_records.save_job(RECORD)
    job_records.save_job(replace(RECORD, id="bert-2"))
    stored = state.load_state("jobs")["jobs"]
    state.save_state("jobs", {"jobs": [*stored, {"id": "new", "shape": "unknown"}]})  # type: ignore[misc]

    assert "bert-2" == getattr(job_records.find_job("my-project", "bert"), "id", None)
    assert RECORD == job_records.find_job("my-project", "bert", "bert-1")
    assert job_records.find_job("other", "bert") is None
    job_records.forget_job(RECORD)
    assert ["bert-2"] == [one.id for one in job_records.read_jobs()]
    assert "unknown" in json.dumps(state.load_state("jobs"))


def test_old_jobs_go_with_their_folders() -> None:
    """Only of more than are kept, and only those for which nothing is waited for."""
    now = datetime.now(timezone.utc)
    ended = {"phase": "ended", "give_back": False}
    waited = {
        "running": {"phase": "running"},
        "kept": {"phase": "ended", "give_back": True},
        "not-fetched": {**ended, "fetch": ("out",)},
    }
    old = {
        "ended": ended,
        "fetched": {**ended, "fetch": ("out",), "is_fetched": True},
        "lost": {"phase": "running"},
    }
    for name, fields in (*waited.items(), *old.items()):
        days = job_records.OLDEST_DAYS + 1 if name == "lost" else 2
        began = (now - timedelta(days=days)).isoformat()
        record = replace(RECORD, id=name, began=began, **fields)  # type: ignore[arg-type]
        job_records.save_job(record)
        record.log_folder.mkdir(parents=True)
        record.archive.touch()
    for number in range(job_records.MOST_JOBS):
        began = (now - timedelta(minutes=number)).isoformat()
        job_records.save_job(replace(RECORD, id=f"bert-{number}", began=began, phase="given-back"))

    ids = {one.id for one in job_records.read_jobs()}
    assert waited.keys() == ids - {f"bert-{number}" for number in range(job_records.MOST_JOBS)}
    assert waited.keys() == {path.name for path in job_records.jobs_folder().iterdir()}


def test_folder_of_cut_start_is_removed() -> None:
    """A day later, because a start that is going on has no record yet."""
    cut, new = (replace(RECORD, id=name).log_folder for name in ("cut", "new"))
    for folder in (cut, new):
        folder.mkdir(parents=True)
        (folder / "code.tar.gz").touch()
    os.utime(cut, (0, 0))

    job_records.save_job(RECORD)

    assert (False, True) == (cut.exists(), new.exists())


@pytest.mark.parametrize("text", ["{", '{"jobs": {}}'])
def test_damaged_list_takes_no_logs_along(text: str) -> None:
    """The jobs whose records were in it may still run, and a log may be all that is left of one."""
    folder = job_records.save_job(RECORD).log_folder
    folder.mkdir(parents=True)
    os.utime(folder, (0, 0))
    state.find_state_path("jobs").write_text(text)
    for id_ in ("bert-2", "bert-3"):
        job_records.save_job(replace(RECORD, id=id_))

    assert folder.exists()
    assert 1 == len([*folder.parent.parent.glob("jobs.broken-*")])


def test_worker_cannot_name_a_folder_elsewhere() -> None:
    """The name of a job that a worker knows becomes that of a folder here."""
    job_records.save_job(replace(RECORD, id="../../bert"))

    assert [] == job_records.read_jobs()


def test_two_followers_write_one_log() -> None:
    """Two followers write one log at the worker's offset, so no line appears twice."""
    first, second = (JobLog(RECORD.logs[0]) for _ in range(2))
    first.write_at(0, b"one\n")
    second.write_at(0, b"one\ntwo\n")
    first.write_at(4, b"two\n")
    for log in (first, second):
        log.close()

    again = JobLog(RECORD.logs[0])
    assert b"one\ntwo\n" == b"".join(again.read_known())
    again.close()


@pytest.mark.parametrize(
    ("record", "states", "fetched", "is_kept"),
    [
        (RECORD, [DONE, DONE], 0, False),
        (RECORD, [DONE], 0, True),
        (RECORD, [DONE, replace(DONE, state="running", code=None)], 0, True),
        (RECORD, [DONE, replace(DONE, state="gone", code=None)], 0, False),
        (replace(RECORD, fetch=("out",)), [DONE, DONE], 0, True),
        (replace(RECORD, fetch=("out",)), [DONE, DONE], 1, False),
        (replace(RECORD, fetch=("out",)), [DONE, replace(DONE, code=1)], 0, False),
    ],
)
def test_tpu_is_kept_for_its_results(
    record: JobRecord, states: list[WorkerJobState], fetched: int, *, is_kept: bool
) -> None:
    """A TPU is kept while a program may run there, or while results are missing."""
    if is_kept:
        with pytest.raises(Problem):
            job_end.require_safe_results(record, states, fetched)
    else:
        job_end.require_safe_results(record, states, fetched)


@pytest.mark.parametrize(
    ("states", "more", "expected"),
    [
        ((), {}, "not-seen"),
        ((), {"phase": "ended", "code": 0}, "ended"),
        ((), {"phase": "ended", "code": 3}, "failed"),
        ((), {"phase": "ended", "code": 143, "is_stopped": True}, "stopped"),
        ((DONE,), {"phase": "given-back", "code": 0}, "given-back"),
        ((DONE, replace(DONE, state="running", code=None)), {}, "running"),
        ((DONE, replace(DONE, code=143, is_stopped=True)), {}, "stopped"),
        ((DONE, replace(DONE, state="lost", code=None)), {}, "lost"),
        ((replace(DONE, state="placed", code=None),), {}, "not-started"),
        ((DONE, replace(DONE, code=1)), {}, "failed"),
        ((DONE, DONE), {}, "ended"),
    ],
)
def test_state_of_job_is_its_worst(
    states: tuple[WorkerJobState, ...], more: dict[str, Any], expected: str
) -> None:
    """As the workers say it; where they were not asked, as this machine remembers it."""
    assert expected == ListedJob(replace(RECORD, **more), states).state


class _Listing:
    """A fake of Google that lists these nodes and has one request."""

    def __init__(
        self,
        *nodes: TpuNode,
        silent: str = "",
        state: str | None = None,
        request: QueuedResource | None = None,
    ) -> None:
        self._nodes = ResourceList(nodes, (silent,) if silent else ())
        self._state, self._request = state, request

    def of(self, _: str) -> _Listing:
        """Return itself for each API."""
        return self

    def resources(self, _: str) -> tuple[ResourceList[QueuedResource], ResourceList[TpuNode]]:
        """List the nodes, and no request."""
        return ResourceList(()), self._nodes

    def node(self, _: str, name: str) -> TpuNode | None:
        """Return the node of this name."""
        return next((one for one in self._nodes.items if one.name == name), None)

    def queued_resource(self, zone: str, name: str) -> QueuedResource | None:
        """Return the request, unless it was deleted."""
        return self._request or (
            self._state and QueuedResource("my-project", zone, name, self._state)
        )


def _job(record: job_records.JobRecord) -> TpuJob:
    return TpuJob(record, [Worker(NODE, 0, "w0")], ConnectionSettings(None, ""))  # type: ignore[arg-type]


def test_another_tpu_of_the_name_is_kept() -> None:
    """A TPU of the same name that was created at another time is not deleted."""
    created = job_records.JobRecord.start_time.fget(RECORD)  # type: ignore[attr-defined]
    node = replace(NODE, created=created)
    mine = replace(RECORD, created=created.isoformat())

    plan = job_end.find_deletion_plan(_Listing(node), _job(mine))  # type: ignore[arg-type]
    assert DeletionPlan("us-central1-b", "bert", None, (node,)) == plan
    with pytest.raises(Problem):
        job_end.find_deletion_plan(_Listing(node), _job(RECORD))  # type: ignore[arg-type]


def test_tpu_of_silent_zone_is_not_gone() -> None:
    """A TPU in a zone that didn't answer isn't gone; one that a full listing lacks is."""
    silent = _Listing(silent="us-central1-b")
    with pytest.raises(Problem):
        job_end.find_deletion_plan(silent, _job(RECORD))  # type: ignore[arg-type]

    assert job_end.find_deletion_plan(_Listing(), _job(RECORD)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "expected"), [("SUSPENDED", True), ("DELETING", False), (None, False)]
)
def test_deleted_tpu_is_not_pre_empted(state: str | None, *, expected: bool) -> None:
    """Otherwise another one would be asked for and paid, after somebody deleted the first."""
    google, gone = _Listing(state=state), replace(DONE, state="gone", code=None)

    assert expected == job_end.is_pre_empted(google, _job(RECORD), [gone], FakeClock())  # type: ignore[arg-type]


@pytest.mark.parametrize("initiator", ["USER", "SERVICE"])
def test_node_deleted_by_user_is_no_preemption(initiator: str) -> None:
    """Google suspends its request as after a pre-emption, and says who has caused that."""
    states = tpu_v2.QueuedResourceState
    state = states(state=states.State.SUSPENDED, state_initiator=states.StateInitiator[initiator])
    name = "projects/my-project/locations/us-central1-b/queuedResources/bert"
    request = message_conversion.parse_queued_resource(
        tpu_v2.QueuedResource(name=name, state=state)
    )
    google = _Listing(request=request)

    found = job_end.query_preemption(google, _job(RECORD), FakeClock())  # type: ignore[arg-type]
    assert (initiator == "SERVICE") == found


@pytest.mark.parametrize(
    ("state", "is_lost"), [("PREEMPTED", True), ("STOPPED", False), ("REPAIRING", False)]
)
def test_stopped_tpu_is_neither_lost_nor_pre_empted(state: str, *, is_lost: bool) -> None:
    """Its results are on its disk: it would be deleted with it, and another one paid for."""
    google, job = _Listing(replace(NODE, state=state), state="ACTIVE"), _job(RECORD)

    assert is_lost == bool(job_run.explain_lost_worker(google, job.workers[0]))  # type: ignore[arg-type]
    assert is_lost == job_end.query_preemption(google, job, FakeClock())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("zone", "chips", "days", "made_days_ago", "is_refused"),
    [
        (NODE.zone, 64, 1, 2, True),
        (NODE.zone, 64, 30, 2, False),
        ("us-east5-a", 64, 1, 2, False),
        (NODE.zone, 4, 30, 2, False),
        (NODE.zone, 64, 1, 0, False),
    ],
    ids=["ended", "runs", "outside", "larger", "made-after-its-end"],
)
def test_ended_grant_pays_no_new_tpu(
    zone: str, chips: int, days: int, made_days_ago: int, *, is_refused: bool
) -> None:
    """A job may run longer than the grant; whoever pays anyway is asked for nothing."""
    now = datetime.now(timezone.utc)
    start = now.date() - timedelta(days=2)
    trc_grant.save_grant(Grant((GrantAllowance("v6e", chips, "spot", zone),), start, days))
    tpu = tpu_request.parse_type("v6e-8")
    request = TpuRequest("bert", tpu, NODE.zone, "", tier="spot", api="cloud-tpu")
    made = now - timedelta(days=made_days_ago)
    node = replace(NODE, type="v6e-8", tier="spot", created=made)
    job = TpuJob(RECORD, [Worker(node, 0, "w0")], _job(RECORD).route)
    with pytest.raises(Problem) if is_refused else contextlib.nullcontext():
        job_end.require_free_recreation(job, request, now)


def test_new_tpu_gets_the_same_job() -> None:
    """Its archive moves along, and what was spent is added up."""
    record = replace(RECORD, again=2, spent_usd=1.5)
    record.log_folder.mkdir(parents=True)
    record.archive.write_bytes(b"code")
    job = _job(record)

    job_end.move_job(job, [Worker(NODE, 0, "w0")])

    again = job.record
    assert (1, ("w0",), b"code") == (again.again, again.workers, again.archive.read_bytes())
    assert again.spent_usd >= 1.5
    assert again.id != record.id


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tier": "spot", "labels": {"a": "b"}, "metadata": {"k": "v"}, "tags": ("t",)},
        {"tier": "reserved", "reservation": "projects/p/locations/z/reservations/r"},
        {"tier": "reserved", "internal_addresses": True, "subnetwork": "s", "network": "n"},
        {"slices": 3, "service_account": "me@example.com"},
        {"data_disks": (DataDisk("projects/p/zones/z/disks/a"), DataDisk("d", read_only=True))},
    ],
)
def test_request_is_read_back_from_google(more: dict[str, Any]) -> None:
    """A request can be read back from Google, so that the same TPU can be requested again."""
    request = TpuRequest(
        "bert", tpu_request.parse_type("v6e-8"), "us-central1-b", "v2-alpha-tpuv6e", **more
    )  # type: ignore[arg-type]
    message = message_conversion.make_queued_resource_message(request, "my-project")
    message.name = "projects/my-project/locations/us-central1-b/queuedResources/bert"

    assert request == message_conversion.parse_tpu_request(message)
