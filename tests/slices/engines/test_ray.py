"""Runs started by the driver for Ray, on a cluster of two nodes on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slices.engines.seen import Seen, ending
from tests.slices.fake_slice_probe import events, write_probe
from tests.support.processes import until
from tests.support.slice_hosts import run_started
from tpustarter.core.problem import ExitCode
from tpustarter.slices.starting import ray_launcher
from tpustarter.slices.starting.launch_request import EndReason, HostStage, LaunchRequest
from tpustarter.slices.starting.running_commands import RunningCommands

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="The Python of the tests has no Ray; that of the lane `slices` has it.",
)
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
more = {"num_cpus": 1, "resources": {"TPU": 4}, "object_store_memory": 80_000_000}
cluster = Cluster(initialize_head=True, head_node_args={**more, "include_dashboard": False})
cluster.add_node(**more)
print("address", cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""
ENV = {
    **os.environ,
    "RAY_USAGE_STATS_ENABLED": "0",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a Ray cluster whose nodes claim four chips each."""
    with (
        (tmp_path_factory.mktemp("ray") / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-c", CLUSTER],
            env=ENV,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout
        assert process.stdin
        lines = (line for line in process.stdout if line.startswith("address "))
        line = next(lines, "")
        assert line, "the cluster did not start"
        yield line.split()[1]
        process.stdin.close()


class RayRun:
    """A run on the cluster that was not started yet."""

    def __init__(
        self,
        address: str,
        folder: Path,
        there: str = "",
        *,
        count: int | None = None,
        reach_s: float = 120,
        **does: Any,
    ) -> None:
        probe = write_probe(folder / "probe.pyz", size=1_600_000, **does)
        options = {"address": address, "python-there": there}
        request = LaunchRequest(archive=probe, python=sys.executable, count=count, options=options)
        self.run = RunningCommands(
            ray_launcher.build_commands(request), folder, env=ENV, reach_s=reach_s
        )
        self.seen = Seen(self.run)

    def is_clean(self) -> bool:
        """Return whether nothing is left of the probes."""
        first = [events(self.seen.lines[host])[0] for host in (0, 1)]
        left = [Path(event["folder"]) for event in first]
        left += [Path(f"/proc/{event['pid']}") for event in first]
        return not any(path.exists() for path in left)


def test_both_hosts_come_with_their_numbers(address: str, tmp_path: Path) -> None:
    """Both hosts have their numbers; one fails, and the other's long lines arrive whole."""
    made = RayRun(address, tmp_path, h0={"lines": 3, "width": 100_000}, h1={"code": 3})

    seen = made.seen.all()

    for host, code in ((0, 0), (1, 3)):
        found = events(seen.lines[host])
        assert ["hello", "end"] == [event["event"] for event in (found[0], found[-1])]
        place = dict(zip(found[0]["words"][1::2], found[0]["words"][2::2], strict=True))
        assert ("2", str(host)) == (place["--hosts"], place["--host"])
        assert f"log of {host}" in seen.lines[host]
        assert (HostStage.RUNNING, EndReason.EXITED, code) == ending(seen.ended[host])
    assert 3 == len([one for one in events(seen.lines[0]) if one["event"] == "line"])
    assert (EndReason.EXITED, 0) == ending(seen.ended[None])[1:]
    until(made.is_clean, "clean hosts")


def test_killed_host_is_named_and_the_other_kept(address: str, tmp_path: Path) -> None:
    """A killed host is named; the other runs on until the stop ends it by its lifeline."""
    made = RayRun(address, tmp_path, h0={"sleep": 600}, h1={"die": signal.SIGKILL})
    seen = made.seen

    seen.until(lambda: 1 in seen.ended and events(seen.lines.get(0, [])))
    assert (HostStage.RUNNING, EndReason.EXITED, 137) == ending(seen.ended[1])
    assert 0 not in seen.ended

    made.run.stop()
    assert "lifeline ended" == seen.all().whys()[0]
    until(made.is_clean, "clean hosts")


def test_missing_python_is_named_on_each_host(address: str, tmp_path: Path) -> None:
    """A missing Python is named for each host by the operating system's message."""
    seen = RayRun(address, tmp_path, there="/no/python").seen.all()

    for host in (0, 1):
        assert (HostStage.REACHED, EndReason.EXITED, 127) == ending(seen.ended[host])
        assert any("/no/python" in line for line in seen.ended[host].tail)


def test_cluster_with_too_few_hosts_ends_it(address: str, tmp_path: Path) -> None:
    """A run on those that are there would pass for one of all hosts."""
    seen = RayRun(address, tmp_path, count=3).seen.all()

    assert (EndReason.EXITED, 1) == ending(seen.ended[None])[1:]
    assert "2 hosts" in "".join(seen.ended[None].tail)


def test_checks_of_a_slice_run_on_both_hosts(address: str, tmp_path: Path) -> None:
    """The probe itself, with the JAX of Ray's own Python."""
    done = run_started(tmp_path, "ray", "--set", f"address={address}", "jax.slice_devices")

    report = json.loads(done.stdout)
    assert ("healthy", ExitCode.OK) == (report["verdict"], done.returncode)
    assert [0, 1] == [one["host"] for one in report["hosts"]]


def test_cluster_that_is_not_there_ends_it(tmp_path: Path) -> None:
    """Ray itself would try again for a quarter of an hour."""
    seen = RayRun("127.0.0.1:9", tmp_path, reach_s=3).seen.all()

    assert (HostStage.STARTED, EndReason.LATE) == ending(seen.ended[None])[:2]
