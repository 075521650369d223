"""Runs started with the real gcloud: hosts with an sshd each, and a TPU API on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.slices.engines.network import NETWORK, Hosts, network, run
from tests.slices.engines.seen import Seen, ending
from tests.slices.fake_slice_probe import events, write_probe
from tests.support import loopback
from tests.support.processes import until
from tpustarter.slices.starting import gcloud_launcher, host_shell_command, launch_request
from tpustarter.slices.starting.launch_request import EndReason, HostStage, LaunchRequest
from tpustarter.slices.starting.running_commands import RunningCommands

pytestmark = [
    *NETWORK,
    pytest.mark.skipif(
        shutil.which("gcloud") is None,
        reason="gcloud is not installed here, so it cannot be run against a server on loopback.",
    ),
]
PLACE = "projects/my-project/locations/us-central1-b"
SLEEPING: dict[str, Any] = {f"h{i}": {"sleep": 600} for i in range(3)}
WELL = (HostStage.RUNNING, EndReason.EXITED, 0)


@dataclass
class Cloud:
    """A TPU of Google's, as its services describe it."""

    hosts: Hosts
    home: Path
    key: str
    """The public key in the project's metadata."""
    state: str = "READY"
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[str] = field(default_factory=list[str])
    address: str = ""

    def answer(self, path: str, document: Any = None) -> tuple[int, Any]:
        """Answer a request as Google's services would; return the status and the document."""
        if document and "metadata" in document:
            self.metadata = document["metadata"]
            for host in self.hosts:  # as the agent on each does, a while later
                keys = host.folder / "authorized_keys"
                added = [line.partition(":")[2] for line in self.metadata["ssh-keys"].splitlines()]
                keys.write_text("\n".join([keys.read_text(), *added, ""]))
            return 200, {"name": f"{PLACE}/operations/one", "done": False}
        if "operations/one" in path:
            kind = "type.googleapis.com/google.cloud.tpu.v2.Node"
            node = {"@type": kind, "name": f"{PLACE}/nodes/bert"}
            return 200, {"name": f"{PLACE}/operations/one", "done": True, "response": node}
        if "nodes/bert" in path and "getGuestAttributes" in path:
            item = {"namespace": "hostkeys", "key": "ssh-ed25519", "value": "a-host-key"}
            return 200, {"guestAttributes": [{"queryValue": {"items": [item]}}]}
        if "nodes/bert" in path:
            endpoints = [{"ipAddress": host.address, "port": 8470} for host in self.hosts]
            return 200, {
                "name": f"{PLACE}/nodes/bert",
                "id": "123",
                "state": self.state,
                "health": "HEALTHY",
                "apiVersion": "V2",
                "acceleratorType": "v5litepod-16",
                "networkEndpoints": endpoints,
                "metadata": self.metadata,
            }
        if path.endswith("/projects/my-project"):
            items = [{"key": "ssh-keys", "value": f"root:{self.key}"}]
            return 200, {"name": "my-project", "commonInstanceMetadata": {"items": items}}
        return 404, {"error": {"code": 404, "message": "Resource not found", "status": "NOT_FOUND"}}

    def environment(self) -> dict[str, str]:
        """Return the variables with which gcloud asks this server."""
        return {
            **os.environ,
            "HOME": str(self.home),
            "CLOUDSDK_CONFIG": str(self.home / "gcloud"),
            "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
            "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
            "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"{self.address}/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{self.address}/compute/v1/",
        }


@contextlib.contextmanager
def serving(cloud: Cloud) -> Iterator[Cloud]:
    """Answer gcloud as long as the block runs."""

    class Handler(loopback.Handler):
        def _answer(self) -> None:
            body = self.read_json()
            path = self.path.partition("?")[0]
            cloud.asked.append(f"{self.command} {path}")
            status, document = cloud.answer(path, body if self.command == "PATCH" else None)
            self.send_document(document, status)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815  the names of the library

    with loopback.serve(Handler) as address:
        cloud.address = f"http://{address}"
        yield cloud


@pytest.fixture(scope="module")
def three_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Return a TPU of three hosts."""
    folder = tmp_path_factory.mktemp("cloud")
    (folder / "home/.ssh").mkdir(parents=True, mode=0o700)
    with network(folder, 3) as hosts:
        for name in ("", ".pub"):
            shutil.copy(f"{hosts.key}{name}", folder / f"home/.ssh/google_compute_engine{name}")
        key = Path(f"{hosts.key}.pub").read_text().strip()
        with serving(Cloud(hosts, folder / "home", key)) as cloud:
            yield cloud


@pytest.fixture
def cloud(three_workers: Cloud) -> Iterator[Cloud]:
    """Return a TPU of three hosts, which a test leaves as it is."""
    yield three_workers
    for host in three_workers.hosts:
        host.clear()


def begin(cloud: Cloud, folder: Path, *, reach_s: float = 60.0, **does: Any) -> RunningCommands:
    """Return a run on all workers that was not started yet."""
    request = LaunchRequest(
        archive=write_probe(folder / "probe.pyz", **does),
        python=sys.executable,
        count=3,
        options=OPTIONS,
    )
    return RunningCommands(
        gcloud_launcher.build_commands(request), folder, env=cloud.environment(), reach_s=reach_s
    )


OPTIONS = {
    "tpu": "bert",
    "zone": "us-central1-b",
    "project": "my-project",
    "ssh": "-oConnectTimeout=2 -oServerAliveInterval=1",
}


def test_each_worker_sends_its_output(cloud: Cloud, tmp_path: Path) -> None:
    """Lines come under the number of their worker, and the exit code of each."""
    seen = Seen(begin(cloud, tmp_path, h0={"lines": 500}, h1={"code": 7})).all()

    assert {0: WELL, 1: (HostStage.RUNNING, EndReason.EXITED, 7), 2: WELL} == {
        host: ending(one) for host, one in seen.ended.items()
    }
    for number in range(3):
        assert {number} == {event["host"] for event in events(seen.lines[number])}
        assert f"log of {number}" in seen.lines[number]
    assert 502 == len(events(seen.lines[0]))
    assert all(host.is_clean() for host in cloud.hosts)


def test_stop_ends_every_worker(cloud: Cloud, tmp_path: Path) -> None:
    """A stop ends every worker with its own event, and then gcloud with the worker's code."""
    going = begin(cloud, tmp_path, **SLEEPING)
    seen = Seen(going)
    seen.running(0, 1, 2)
    going.stop()

    seen.all()

    assert {(HostStage.RUNNING, EndReason.STOPPED, 4)} == {
        ending(one) for one in seen.ended.values()
    }
    assert all(host.is_clean() for host in cloud.hosts)


PROGRAM = """
    import json, sys
    from pathlib import Path
    from tpustarter.slices.starting import gcloud_launcher
    from tpustarter.slices.starting.launch_request import LaunchRequest
    from tpustarter.slices.starting.running_commands import RunningCommands
    folder, options, python = sys.argv[1:]
    request = LaunchRequest(archive=Path(folder, "probe.pyz"), python=python, count=3,
                           options=json.loads(options))
    for event in RunningCommands(gcloud_launcher.build_commands(request), Path(folder)).events():
        print(event, flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_death_of_this_program_ends_workers(
    cloud: Cloud, tmp_path: Path, number: signal.Signals
) -> None:
    """If this program dies, gcloud, its ssh and all processes on the workers end."""
    write_probe(tmp_path / "probe.pyz", **SLEEPING)
    with subprocess.Popen(
        [
            *(sys.executable, "-c", textwrap.dedent(PROGRAM)),
            *(str(tmp_path), json.dumps(OPTIONS), sys.executable),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=cloud.environment(),
    ) as process:
        until(lambda: all(len(host.processes()) >= 3 for host in cloud.hosts), "running hosts")
        process.send_signal(number)
        process.wait()

    cloud.hosts.wait_until_clean()
    until(lambda: str(cloud.home) not in run("ps", "-ww", "-eo", "args"), "an end of every ssh")


def test_unreached_worker_is_given_up_and_others_kept(cloud: Cloud, tmp_path: Path) -> None:
    """Gcloud tries again for minutes, and ssh's words are among its last lines."""
    cloud.hosts[1].stop_server()
    try:
        seen = Seen(begin(cloud, tmp_path, reach_s=30)).all()
    finally:
        cloud.hosts[1].start()

    assert {0: WELL, 2: WELL} == {i: ending(seen.ended[i]) for i in (0, 2)}
    assert (HostStage.STARTED, EndReason.LATE) == ending(seen.ended[1])[:2]
    print(f"\n{seen.ended[1].tail}")
    assert any("Connection refused" in line for line in seen.ended[1].tail)


@pytest.mark.parametrize("mends", [True, False])
def test_lost_connection_is_not_begun_again(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, mends: bool
) -> None:
    """Gcloud connects again after ssh's 255, where nobody could send the probe again."""
    monkeypatch.setattr(host_shell_command, "LIFELINE_S", 6)
    monkeypatch.setattr(launch_request, "HEARTBEAT_S", 1)
    going = begin(cloud, tmp_path, **SLEEPING)
    seen = Seen(going)
    seen.running(0, 1, 2)
    cloud.hosts[1].cut()
    seen.until(cloud.hosts[1].is_clean)
    if mends:
        cloud.hosts[1].mend()

    seen.until(lambda: seen.ended)
    cloud.hosts[1].mend()
    assert (HostStage.RUNNING, EndReason.LOST) == ending(seen.ended[1])[:2]
    going.stop()
    seen.all()

    assert {(HostStage.RUNNING, EndReason.STOPPED, 4)} == {ending(seen.ended[i]) for i in (0, 2)}
    cloud.hosts.wait_until_clean()


def test_first_connection_makes_one_key(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first worker's gcloud makes it and adds it to the TPU; the others find it."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(cloud, "home", tmp_path / "home")
    monkeypatch.setattr(cloud, "key", "ssh-ed25519 another root")
    cloud.asked.clear()

    seen = Seen(begin(cloud, tmp_path)).all()

    assert dict.fromkeys(range(3), WELL) == {i: ending(one) for i, one in seen.ended.items()}
    assert 1 == len([line for line in cloud.asked if line.startswith("PATCH")])


@pytest.mark.parametrize("state", ["STOPPED", "PREEMPTED"])
def test_refusal_of_gcloud_is_its_own_words(cloud: Cloud, tmp_path: Path, state: str) -> None:
    """If gcloud refuses to connect to a TPU, every host ends at once with gcloud's message."""
    cloud.state = state
    try:
        seen = Seen(begin(cloud, tmp_path)).all()
    finally:
        cloud.state = "READY"

    assert {(HostStage.STARTED, EndReason.EXITED, 1)} == {
        ending(one) for one in seen.ended.values()
    }
    assert all(any(one.tail) for one in seen.ended.values())


def test_hosts_are_counted_by_gcloud(cloud: Cloud) -> None:
    """The hosts are counted from gcloud's document, whatever it writes to stderr."""
    request = LaunchRequest(archive=Path("unused"), options=OPTIONS)

    done = subprocess.run(
        gcloud_launcher.format_count_command(request),
        env=cloud.environment(),
        capture_output=True,
        check=True,
    )

    assert 3 == gcloud_launcher.count_tpu_hosts(done.stdout)
