"""Runs started by the real srun, on a cluster of two hosts on this machine."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slices.engines.seen import Seen, ending
from tests.slices.engines.slurm_cluster import SLURM, ask, cluster
from tests.slices.fake_slice_probe import events, write_probe
from tests.support.processes import until
from tests.support.slice_hosts import run_started
from tpustarter.core.problem import ExitCode
from tpustarter.slices.starting import slurm_launcher
from tpustarter.slices.starting.launch_request import EndReason, HostStage, LaunchRequest
from tpustarter.slices.starting.running_commands import RunningCommands

pytestmark = SLURM


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    """Return the variables of a cluster; its folder is short, as the path of a socket must be."""
    with tempfile.TemporaryDirectory(prefix="ts-slurm-") as folder, cluster(Path(folder)) as made:
        yield made


def begin(
    env: dict[str, str], folder: Path, python: str = sys.executable, **does: Any
) -> RunningCommands:
    """Return a run on both hosts that was not started yet."""
    probe = write_probe(folder / "probe.pyz", size=1_600_000, **does)
    (folder / "tmp").mkdir()
    request = LaunchRequest(archive=probe, python=python, count=2)
    return RunningCommands(
        slurm_launcher.build_commands(request), folder, env={**env, "TMPDIR": str(folder / "tmp")}
    )


def is_clean(env: dict[str, str], folder: Path) -> bool:
    """Return whether no process or file of a run is left on the hosts, and Slurm has no job."""
    return not any((folder / "tmp").iterdir()) and ask(env, "squeue", "-h") == ""


def pids(seen: Seen) -> list[int]:
    """Return the processes of the probes."""
    return [event["pid"] for host in (0, 1) for event in events(seen.lines[host])[:1]]


def test_both_hosts_come_with_their_numbers(env: dict[str, str], tmp_path: Path) -> None:
    """Long lines arrive whole, and each host's log and end is its own."""
    wide = {"lines": 3, "width": 100_000}

    seen = Seen(begin(env, tmp_path, h0=wide, h1=wide)).all()

    for host in (0, 1):
        names = [event["event"] for event in events(seen.lines[host])]
        assert ["hello", "line", "line", "line", "end"] == names
        assert f"log of {host}" in seen.lines[host]
        assert (HostStage.RUNNING, EndReason.EXITED, 0) == ending(seen.ended[host])
    assert (HostStage.RUNNING, EndReason.EXITED, 0) == ending(seen.ended[None])
    until(lambda: is_clean(env, tmp_path), "a clean host")


def test_checks_of_a_slice_run_on_both_hosts(env: dict[str, str], tmp_path: Path) -> None:
    """The probe itself, whose JAX reads its place from Slurm."""
    done = run_started(tmp_path, "slurm", "--hosts", "2", "jax.slice_devices", env=env)

    report = json.loads(done.stdout)
    assert ("healthy", ExitCode.OK) == (report["verdict"], done.returncode)
    assert [0, 1] == [one["host"] for one in report["hosts"]]


@pytest.mark.parametrize(
    ("does", "code"), [({"code": 3}, 3), ({"die": signal.SIGKILL}, 137)], ids=["exit", "kill"]
)
def test_failing_host_is_named_and_the_other_kept(
    env: dict[str, str], tmp_path: Path, does: dict[str, Any], code: int
) -> None:
    """The other one runs on until it is done."""
    seen = Seen(begin(env, tmp_path, h0={"sleep": 60}, h1=does))

    seen.until(lambda: 1 in seen.ended)
    assert (HostStage.RUNNING, EndReason.EXITED, code) == ending(seen.ended[1])
    assert 0 not in seen.ended

    os.kill(pids(seen)[0], signal.SIGTERM)
    assert 143 == seen.all().ended[0].code


def test_missing_python_is_named_on_each_host(env: dict[str, str], tmp_path: Path) -> None:
    """A missing Python is named for each host by its shell, after the probe has arrived."""
    seen = Seen(begin(env, tmp_path, python="/no/python")).all()

    for host in (0, 1):
        assert (HostStage.PLACED, EndReason.EXITED, 127) == ending(seen.ended[host])
        assert "/no/python" in seen.ended[host].tail[-1]


def test_stop_ends_both_hosts(env: dict[str, str], tmp_path: Path) -> None:
    """A stop ends both hosts by their lifelines and leaves nothing."""
    run = begin(env, tmp_path, h0={"sleep": 600}, h1={"sleep": 600})
    seen = Seen(run)
    seen.running(0, 1)

    run.stop()
    seen.all()

    assert {0: "lifeline ended", 1: "lifeline ended"} == seen.whys()
    assert (HostStage.RUNNING, EndReason.STOPPED) == ending(seen.ended[None])[:2]
    until(lambda: is_clean(env, tmp_path), "a clean host")


def test_killed_srun_ends_both_hosts(env: dict[str, str], tmp_path: Path) -> None:
    """Slurm ends the processes of a srun that is gone."""
    run = begin(env, tmp_path, h0={"sleep": 600}, h1={"sleep": 600})
    seen = Seen(run)
    seen.running(0, 1)
    processes = pids(seen)

    run.stop()
    run.stop()
    seen.all()

    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes), "the end of both")
