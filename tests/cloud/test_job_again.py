"""A job on Compute Engine that starts anew after a pre-emption, and only then."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cloud.test_compute_requests import FLEX_START, REQUESTS
from tests.support.cloud_runs import PROJECT, exhaust
from tests.support.fake_compute import ZONE, FakeCompute, connect, serving
from tests.support.fake_workers import cut, end_calls, ending_jobs, lay_workers, replace_workers
from tests.support.processes import until
from tpustarter.cli.tpu import job_events
from tpustarter.cloud.api import compute_requests
from tpustarter.cloud.api.compute_client import ComputeClient
from tpustarter.cloud.api.compute_request_parsing import (
    MachineProperties,
    rebuild_request_from_machine,
)
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.create.tpu_request import TpuRequest
from tpustarter.cloud.jobs import (
    job_completion,
    job_connection,
    job_end,
    job_files,
    job_records,
    job_start,
)
from tpustarter.cloud.jobs.job_connection import TypedConnection
from tpustarter.cloud.jobs.job_run import TpuJob
from tpustarter.cloud.jobs.job_start import JobRequest
from tpustarter.core.problem import ExitCode, Problem

needs_tmux = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="Without systemd a job needs tmux."
)
WAIT = "echo here; touch waits; while [ ! -e go ]; do sleep 0.02; done; echo end"
AT_ONCE = (((0, "RUNNING"),), None)


@pytest.mark.parametrize("name", REQUESTS | FLEX_START)
def test_request_is_read_back_from_google(name: str) -> None:
    """A request can be read back from Google, so that the same TPU can be requested again."""
    request = (REQUESTS | FLEX_START)[name]
    made = make_machine(request)
    machine = msgspec.convert(made, MachineProperties)

    hosts = request.type.hosts
    read = rebuild_request_from_machine(machine, request.name, request.zone, "my-project", hosts)

    assert read
    assert (request.type, request.tier) == (read.type, read.tier)
    assert made == make_machine(read)


def make_machine(request: TpuRequest) -> Any:
    """Return the instance, or the properties of the template, that a request makes."""
    if request.type.hosts == 1:
        return compute_requests.make_instance_body(request, "my-project")
    return compute_requests.make_instance_template_body(request, "my-project")["properties"]


@dataclass
class Site:
    """Compute Engine, a job that waits on a spot TPU of it, and the TPU's workers."""

    compute: FakeCompute
    client: ComputeClient
    path: str
    """The path of the instance or group."""
    job: TpuJob
    homes: Path

    def follow(self) -> int | None:
        """Follow the job to its end."""
        clock = self.compute.clock
        return exhaust(job_completion.follow_job(self.client, PROJECT, self.job, clock))[1]

    def lose(self, *, is_preemption: bool) -> None:
        """Remove the TPU and everything that runs on it."""
        self.compute.lose(self.path, is_preemption=is_preemption)
        for number in range(len(self.job.workers)):
            cut(self.homes, number)
            end_calls(self.homes, number)

    def waiting(self) -> int:
        """Return the number of programs that have come to their wait."""
        return len([*self.homes.glob("w*/tpustarter-jobs/*/code/waits")])

    def count_queries(self) -> int:
        """Return the number of queries for pre-emptions."""
        return sum(path.endswith("/operations") for _, path, _ in self.compute.asked)

    def creations(self) -> list[Any]:
        """Return the bodies of all requests that created something."""
        return [body for method, _, body in self.compute.asked if method == "POST" and body]


@pytest.fixture(params=["v6e-8", "v6e-16"])
def site(
    request: pytest.FixtureRequest, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    """Return a job that has started on an instance, or on a group of four."""
    tpu = tpu_request.parse_type(request.param)
    asked = TpuRequest("bert", tpu, ZONE, "", tier="spot", api="compute", labels={"a": "b"})
    code = tmp_path / "train"
    code.mkdir()
    (code / "train.py").touch()
    monkeypatch.setenv("HOME", str(home))
    (home / ".ssh").mkdir()
    (home / ".ssh/google_compute_engine").touch()
    with serving() as compute, ending_jobs(lay_workers(tmp_path / "workers", tpu.hosts)) as homes:
        monkeypatch.setenv("PATH", f"{homes}:{os.environ['PATH']}")
        compute.scripts = [AT_ONCE] * 2
        client = connect(compute)
        exhaust(TpuCreation(client, PROJECT, compute.clock).run([asked]))
        workers, route = job_connection.find_workers(client, PROJECT, "bert", TypedConnection(ZONE))
        order = JobRequest("bert", (WAIT,), again=1)
        job = TpuJob(job_start.make_record(order, workers, route), workers, route)
        job_end.save_tpu_request(client, job)
        job.pack(job_files.find_job_files(code))
        exhaust(job_start.start_job(client, job, None, compute.clock))
        kind = "instances" if tpu.hosts == 1 else "instanceGroupManagers"
        site = Site(compute, client, f"zones/{ZONE}/{kind}/bert", job, homes)
        until(lambda: site.waiting() == tpu.hosts, "the job")
        yield site


@needs_tmux
def test_job_starts_again_after_a_preemption(site: Site) -> None:
    """The same TPU is asked for, the job runs there, and the ledger has the TPU once."""
    first = site.creations()
    site.lose(is_preemption=True)
    code = site.follow()
    assert code is None
    site.compute.clock.sleep(60)
    replace_workers(site.homes)
    site.job = TpuJob(job_records.read_jobs()[-1], site.job.workers, site.job.route)
    exhaust(job_completion.recreate_tpu(site.client, PROJECT, site.job, site.compute.clock))
    exhaust(job_start.start_job(site.client, site.job, None, site.compute.clock))
    until(lambda: site.waiting() == len(site.job.workers), "the second start")
    for one in site.homes.glob("w*/tpustarter-jobs/*/code"):
        (one / "go").touch()

    assert first + first == site.creations()
    assert 0 == site.follow()
    assert 0 == site.job.record.again
    assert ["bert"] == [entry.name for entry in ledger.read_ledger()]


@needs_tmux
def test_preemption_during_a_start_is_seen(site: Site) -> None:
    """Sending the folder takes minutes, in which the TPU may go; a deleted TPU is an error."""
    starting = job_start.start_job(site.client, site.job, None, site.compute.clock)
    site.lose(is_preemption=True)

    assert not exhaust(starting)[1]
    assert "ended" == site.job.record.phase
    site.compute.preemptions.clear()
    starting = job_start.start_job(site.client, site.job, None, site.compute.clock)
    with pytest.raises(Problem):
        exhaust(starting)


@needs_tmux
@pytest.mark.parametrize("was_earlier", [False, True])
def test_deleted_tpu_is_not_made_again(site: Site, *, was_earlier: bool) -> None:
    """Somebody did not want it any more; a pre-emption of an earlier one of the name is no other.

    Otherwise whoever deletes a TPU would pay for the next one.
    """
    if was_earlier:
        before = "2020-01-01T00:00:00.000-07:00"
        for worker in site.job.workers:
            row = {"targetLink": f"https://x/zones/{ZONE}/instances/{worker.host}"}
            site.compute.preemptions.append({**row, "insertTime": before})
    before_s = len(site.creations())
    site.lose(is_preemption=False)

    assert 255 == site.follow()
    assert before_s == len(site.creations())


@needs_tmux
def test_ctrl_c_ends_wait_for_preemption(site: Site) -> None:
    """Ctrl-C ends the wait for a pre-emption, which may take half a minute."""
    site.lose(is_preemption=False)

    def press() -> None:
        until(lambda: site.count_queries() > 0, "the first query")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(Problem) as caught:
        job_events.follow_and_finish_job(site.client, PROJECT, site.job)

    assert ExitCode.INTERRUPTED == caught.value.code
    assert 1 == site.count_queries()


def test_tpu_of_another_program_is_refused() -> None:
    """A TPU of another program is refused, because requests lack its image and boot disk."""
    with serving() as compute:
        compute.add_instance("bert", "ct6e-standard-8t")
        client = connect(compute)
        job = _make_job(client)
        with pytest.raises(Problem):
            job_end.save_tpu_request(client, job)


def _make_job(client: ComputeClient) -> TpuJob:
    workers, route = job_connection.find_workers(client, PROJECT, "bert", TypedConnection(ZONE))
    record = job_start.make_record(JobRequest("bert", ("true",), again=1), workers, route)
    return TpuJob(record, workers, route)
