"""`tpustarter tpu job` on two workers: hosts with a network and a real sshd of their own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from google.cloud import tpu_v2

from tests.slices.engines.network import NETWORK, Hosts, network
from tests.support.fake_cloud import FakeCloud, Made, serving
from tests.support.fake_remote import node
from tests.support.places import SUPPORT
from tests.support.processes import HANG_S, until
from tpustarter.cloud.api import message_conversion
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.create.tpu_request import TpuRequest

pytestmark = [
    *NETWORK,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="Without systemd a job needs tmux."),
]
CODE = """
import os, sys, time
from pathlib import Path
me = os.environ["TPUSTARTER_JOB"].rpartition("/w")[2]
for number in range(int(sys.argv[1])):
    print(f"line {number} of {me}")
Path("out").mkdir()
Path("out/result.bin").write_bytes(bytes(range(256)) * 5000 + me.encode())
if sys.argv[2] == "wait":
    Path("waits").touch()
    while not Path("go").exists():
        time.sleep(0.02)  # between two looks for a file, and nothing is judged by it
    for number in range(int(sys.argv[1]), 2 * int(sys.argv[1])):
        print(f"line {number} of {me}")
if sys.argv[2] == "fail" and me == "1":
    raise ValueError("the batch size must be divisible by the number of devices")
"""


@dataclass
class WorkersCloud(FakeCloud):
    """A service whose queued resources become nodes with these workers."""

    addresses: list[str] = field(default_factory=list[str])

    def _node(self, *words: Any) -> Any:
        made = super()._node(*words)
        made.network_endpoints = [
            tpu_v2.NetworkEndpoint(
                ip_address="10.0.0.2", access_config=tpu_v2.AccessConfig(external_ip=address)
            )
            for address in self.addresses
        ]
        return made


@dataclass
class Site:
    """Two workers, Google, and a folder of code on this machine."""

    hosts: Hosts
    cloud: FakeCloud
    folder: Path
    env: dict[str, str]

    def words(self, *arguments: str) -> list[str]:
        """Return the command line of `tpustarter tpu job`."""
        return [sys.executable, str(SUPPORT / "drive_tpu.py"), "tpu", "job", *arguments]

    def job(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run it to its end, and require this exit code."""
        done = self.run(*arguments)
        assert code == done.returncode, done.stdout + done.stderr
        return done

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end, with any exit code."""
        return subprocess.run(
            self.words(*arguments),
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )

    def on_worker(self, number: int, *parts: str) -> Path:
        """Return a path in the only job's folder on a worker."""
        (job,) = (self.hosts[number].folder / "tpustarter-jobs").iterdir()
        return job.joinpath(*parts)

    def queue_spot_tpu(self) -> None:
        """Make the TPU one of a queued resource, and let the next one be ready at once."""
        self.cloud.nodes.clear()
        name = "projects/my-project/locations/us-central1-b/queuedResources/bert"
        request = TpuRequest(
            "bert", tpu_request.parse_type("v6e-8"), "us-central1-b", "v2-alpha-tpuv6e", tier="spot"
        )
        message = message_conversion.make_queued_resource_message(request, "my-project")
        message.name = name
        at_once = ((0.0, "ACTIVE"),)
        self.cloud.made[name] = Made(message, self.cloud.clock.now(), at_once)
        self.cloud.scripts["us-central1-b"] = [(at_once, None)]

    def let_go(self) -> None:
        """Let a waiting job end."""
        for host in self.hosts:
            self.on_worker(host.number, "code", "go").touch()


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Return two hosts, each with a home of its own."""
    with network(tmp_path_factory.mktemp("net"), 2, homes=True) as made:
        yield made


@pytest.fixture
def site(two_hosts: Hosts, home: Path, tmp_path: Path) -> Iterator[Site]:
    """Return two empty workers, and their TPU."""
    tools, folder = tmp_path / "tools", tmp_path / "train"
    tools.mkdir()
    folder.mkdir()
    (folder / "train.py").write_text(CODE)
    ssh = tools / "ssh"
    known = f"-oUserKnownHostsFile={tmp_path}/known"
    ssh.write_text(
        f'#!/bin/sh\nexec {shutil.which("ssh")} -oIdentityFile={two_hosts.key} {known} "$@"\n'
    )
    ssh.chmod(0o755)
    (home / ".ssh").mkdir()
    (home / ".ssh/google_compute_engine").touch()
    addresses = [host.address for host in two_hosts]
    with serving(WorkersCloud(clock=WallClock(), delete_s=0.0, addresses=addresses)) as cloud:
        one = node(workers=2)
        for endpoint, host in zip(one.network_endpoints, two_hosts, strict=True):
            endpoint.access_config = tpu_v2.AccessConfig(external_ip=host.address)
        cloud.nodes[one.name] = one
        env = {
            **os.environ,
            "HOME": str(home),
            "PATH": f"{tools}:{os.environ['PATH']}",
            "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}",
            "CLOUDSDK_CORE_PROJECT": "my-project",
            "CLOUDSDK_COMPUTE_ZONE": "us-central1-b",
            "CLOUDSDK_CONFIG": str(home / "gcloud"),
            "COLUMNS": "80",
        }
        yield Site(two_hosts, cloud, folder, env)
    for host in two_hosts:
        host.mend()
        host.clear()
        shutil.rmtree(host.folder / "tpustarter-jobs", ignore_errors=True)


def lines_of(number: int, first: int, last: int) -> list[str]:
    """Return the lines that a worker's program writes."""
    return [f"w{number} | line {line} of {number}" for line in range(first, last)]


def shown(output: str, number: int) -> list[str]:
    """Return the lines of one worker in a stream of all."""
    return [line for line in output.splitlines() if line.startswith(f"w{number} | ")]


def test_job_runs_and_results_are_equal(site: Site) -> None:
    """A job runs on both workers, and its results come back unchanged."""
    site.job("bert", "--via", "ssh", "--", "python3", "train.py", "10", "end")
    followed = site.job("logs", "-f", "bert")
    site.job("fetch", "bert", "out/**", "--to", "results")

    for number in range(2):
        assert lines_of(number, 0, 10) == shown(followed.stdout, number)
        there = site.on_worker(number, "code", "out", "result.bin").read_bytes()
        here = (site.folder / f"results/w{number}/out/result.bin").read_bytes()
        assert hashlib.sha256(there).digest() == hashlib.sha256(here).digest()
        assert b"" != there


def test_cut_connection_loses_no_line(site: Site) -> None:
    """60,000 lines of each worker, with a link cut in the middle, are all here and in order."""
    site.job("bert", "--via", "ssh", "--", "python3", "train.py", "30000", "wait")
    output, errors = site.folder / "output", site.folder / "errors"
    with output.open("w") as out, errors.open("w") as err:
        following = subprocess.Popen(
            site.words("logs", "-f", "bert"), cwd=site.folder, env=site.env, stdout=out, stderr=err
        )
    try:
        until(lambda: output.read_bytes().count(b"\n") > 20_000, "lines of both")
        cut = site.hosts[1]
        cut.cut()
        for pid in connections(following.pid, cut.address):
            os.kill(pid, signal.SIGKILL)  # as ssh ends itself after a minute and a half
        until(lambda: "trying again" in errors.read_text(), errors.read_text)
        site.let_go()
        cut.mend()
        code = following.wait(HANG_S)
    finally:
        following.kill()
        following.wait()

    text = output.read_text()
    assert 0 == code, errors.read_text()
    assert "connected again" in errors.read_text()
    for number in range(2):
        assert lines_of(number, 0, 60_000) == shown(text, number)
        (log,) = Path(site.env["TPUSTARTER_HOME"]).glob(f"tpu-jobs/*/w{number}.log")
        assert site.on_worker(number, f"w{number}", "log").read_bytes() == log.read_bytes()


def connections(parent: int, address: str) -> list[int]:
    """Return the processes of ssh that a client has started for an address."""
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [int(pid) for pid, above, args in rows if int(above) == parent and address in args]


def test_killed_worker_and_failed_job_are_explained(site: Site) -> None:
    """One program fails: its code is ours, and explain names the worker that was first."""
    done = site.job(
        *("bert", "--via", "ssh", "--follow", "--", "python3", "train.py", "3", "fail"), code=1
    )

    assert lines_of(0, 0, 3) == shown(done.stdout, 0)
    assert "w0 ended with 0" in done.stderr
    assert "w1 ended with 1" in done.stderr
    assert "worker 1" in done.stderr

    site.job("bert", "--via", "ssh", "--", "python3", "train.py", "3", "wait")
    for pid in site.hosts[1].processes():
        os.kill(pid, signal.SIGKILL)
    for host in site.hosts:
        (path,) = host.folder.glob("tpustarter-jobs/*/code/waits")
        path.with_name("go").touch()
    done = site.job("logs", "-f", "bert", code=255)

    assert "w0 ended with 0" in done.stderr
    assert "w1 was killed" in done.stderr


def test_job_without_record_is_found_and_stopped(site: Site) -> None:
    """A job without a record here is found on the workers and stopped."""
    stubborn = "trap '' TERM; (trap '' TERM; sleep 600) & echo deaf; sleep 600 & wait; sleep 600"
    site.job("bert", "--via", "ssh", "--", stubborn)
    busy = site.job("bert", "--via", "ssh", "--", "true", code=75)
    (Path(site.env["TPUSTARTER_HOME"]) / "jobs.json").unlink()
    listed = json.loads(site.job("list", "--via", "ssh", "--json").stdout)
    stopped = site.job("stop", "bert", "--via", "ssh")

    schema = resources.files("tpustarter.cloud").joinpath("jobs.schema.json").read_text()
    jsonschema.validate(listed, json.loads(schema))
    (job,) = listed["jobs"]
    assert [stubborn] == job["command"]
    assert ["running", "running"] == [one["state"] for one in job["workers"]]
    assert "is still running" in busy.stderr
    assert "w0, w1 was stopped" in stopped.stderr
    for host in site.hosts:
        until(lambda host=host: not host.processes(), host.processes)
    site.job("logs", "bert", "--via", "ssh")


def test_tpu_is_given_back_after_its_results(site: Site) -> None:
    """The TPU is given back only after all its results are here."""
    begin = ("bert", "--via", "ssh", "--give-back", "--yes", "--fetch")
    train = ("--", "python3", "train.py", "3")
    kept = site.job(*begin, "*.nowhere", *train, "end", code=3)
    assert site.cloud.nodes
    assert "not given back" in kept.stderr

    done = site.job(*begin, "out/*", "--fetch-to", "results", *train, "fail", code=1)

    assert {} == site.cloud.nodes, done.stderr
    assert "USD until now" in " ".join(done.stdout.split())
    assert (site.folder / "results/w1/out/result.bin").exists()
    after = site.job("logs", "bert")
    assert lines_of(1, 0, 3) == shown(after.stdout, 1)[:3]


def test_pre_empted_worker_ends_the_job(site: Site) -> None:
    """A pre-empted worker ends the job."""
    site.job("bert", "--via", "ssh", "--", "python3", "train.py", "3", "wait")
    (one,) = site.cloud.nodes.values()
    one.state = tpu_v2.Node.State.PREEMPTED
    for host in site.hosts:
        host.stop_server()
        host.clear()
    try:
        done = site.job("logs", "-f", "bert", code=2)
    finally:
        for host in site.hosts:
            host.start()

    assert "PREEMPTED" in done.stderr


def test_job_starts_again_after_a_preemption(site: Site, tmp_path: Path) -> None:
    """After a pre-emption the job starts again on a new TPU, as often as allowed."""
    site.queue_spot_tpu()
    output = tmp_path / "output"
    with output.open("wb") as file:
        following = subprocess.Popen(
            site.words(
                *("bert", "--via", "ssh", "--again", "1", "--give-back", "--yes"),
                *("--", "python3", "train.py", "3", "wait"),
            ),
            cwd=site.folder,
            env=site.env,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: all(waiting(host.folder) == 1 for host in site.hosts), "the first TPU")
        (site.folder / "train.py").write_text("raise SystemExit('not what was sent')")
        site.cloud.preempt("us-central1-b", "bert")
        for host in site.hosts:
            host.stop_server()
            host.clear()
        until(lambda: site.cloud.called("DeleteQueuedResource"), output.read_text)
        for host in site.hosts:
            host.start()
        until(
            lambda: (
                following.poll() is not None
                or all(waiting(host.folder) == 2 for host in site.hosts)
            ),
            output.read_text,
            600.0,
        )
        for host in site.hosts:
            for path in host.folder.glob("tpustarter-jobs/*/code/waits"):
                path.with_name("go").touch()
        following.wait(HANG_S)
    finally:
        following.kill()
        for host in site.hosts:
            if host.server is None:
                host.start()

    assert 0 == following.returncode, output.read_text()
    assert 2 == len(site.cloud.called("DeleteQueuedResource"))
    assert {} == site.cloud.existing()
    assert lines_of(1, 0, 6) == shown(output.read_text(), 1)[-6:]


def waiting(home: Path) -> int:
    """Return the number of jobs on a worker whose program has come to its wait."""
    return len([*home.glob("tpustarter-jobs/*/code/waits")])


INTERRUPTING = """#!/bin/sh
call=1  # its number, which two calls at once never share
until mkdir {tools}/calls/$call; do call=$((call + 1)); done 2>/dev/null
[ $call = {at} ] && kill -INT $PPID
exec {ssh} -oIdentityFile={key} -oUserKnownHostsFile={tools}/known "$@"
"""


def test_interrupted_start_runs_everywhere_or_nowhere(site: Site, tmp_path: Path) -> None:
    """A start that Ctrl-C interrupts runs on all workers or on none, and can be stopped."""
    ssh = tmp_path / "tools/ssh"
    for at in range(1, 8):
        values = {"tools": ssh.parent, "ssh": shutil.which("ssh"), "key": site.hosts.key}
        ssh.write_text(INTERRUPTING.format(at=at, **values))
        shutil.rmtree(ssh.parent / "calls", ignore_errors=True)
        (ssh.parent / "calls").mkdir()
        done = site.run("bert", "--via", "ssh", "--", "sleep 600")

        running = [host for host in site.hosts if host.processes()]
        if done.returncode == 0:
            assert 2 == len(running), (at, done.stderr)
            ssh.write_text(INTERRUPTING.format(at="none", **values))
            site.job("stop", "bert")
        assert done.returncode in (0, 130), (at, done.stderr)
        for host in site.hosts:
            until(lambda host=host: not host.processes(), host.processes)
            shutil.rmtree(host.folder / "tpustarter-jobs", ignore_errors=True)
