"""Runs by the real mpirun, on two hosts that a stand-in for ssh makes of this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.slices.engines.seen import Seen, ending
from tests.slices.fake_slice_probe import events, write_probe
from tests.support.processes import until
from tests.support.slice_hosts import run_started
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.slices.starting import mpi_launcher
from tpustarter.slices.starting.launch_request import EndReason, HostStage, LaunchRequest
from tpustarter.slices.starting.running_commands import RunningCommands

SECOND = os.environ.get("TPUSTARTER_OPEN_MPI_5")
"""Folder of the programs of Open MPI 5, beside those of the machine."""
AGENT = """#!/bin/sh
while :; do case "$1" in -*) shift;; *) break;; esac; done
name=$1; shift
exec unshare --uts --mount sh -c "mount --bind {hosts} /etc/hosts; hostname $name; $*"
"""


def lacks(folder: str | None) -> str:
    """Return the reason why mpirun can't be tested here; empty if it can."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "Hosts for mpirun with names of their own need root and unshare."
    if shutil.which("mpirun", path=folder) is None:
        return "Open MPI is not installed here, or this version of it."
    words = ["unshare", "--uts", "true"]
    if subprocess.run(words, capture_output=True, check=False).returncode != 0:
        return "This machine lets nobody make a namespace for the name of a host."
    return ""


def version(name: str, folder: str | None) -> Any:
    """Return a version to be tried, with the sentence that skips it."""
    why = lacks(folder)
    marks = [pytest.mark.root, pytest.mark.skipif(bool(why), reason=why or "-")]
    return pytest.param(name, folder, id=name, marks=marks)


VERSIONS = [version("4", os.environ.get("PATH")), version("5", SECOND or "/nowhere")]


class Machine:
    """The hosts and folders of a run with one version of Open MPI."""

    def __init__(self, name: str, programs: str, folder: Path) -> None:
        self.version = name
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        agent = folder / "agent"
        hosts = folder / "hosts"
        hosts.write_text("127.0.0.1 localhost h0 h1\n")  # a host of Gloo's knows its own name
        agent.write_text(AGENT.format(hosts=hosts))
        agent.chmod(0o755)
        self.options = {"mpi": f"--mca plm_rsh_agent {agent}", "version": name}
        if name == "5":
            self.options["shared"] = "yes"
        path = f"{programs}:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "TMPDIR": str(self.temporary)}

    def begin(self, python: str = sys.executable, **does: Any) -> RunningCommands:
        """Return a run on both hosts that was not started yet."""
        probe = write_probe(self.folder / "probe.pyz", size=1_600_000, **does)
        request = LaunchRequest(
            archive=probe, python=python, hosts=("h0", "h1"), options=self.options
        )
        return RunningCommands(mpi_launcher.build_commands(request), self.folder, env=self.env)

    def is_clean(self) -> bool:
        """Return whether no probe is left on the hosts."""
        return not [*self.temporary.glob("tmp.*")]


both = pytest.mark.parametrize(("name", "programs"), VERSIONS)


@both
def test_both_hosts_come_with_their_numbers(name: str, programs: str, tmp_path: Path) -> None:
    """Long lines arrive whole, and each host's log and end is its own."""
    machine = Machine(name, programs, tmp_path)
    wide = {"lines": 3, "width": 100_000}

    seen = Seen(machine.begin(h0=wide, h1=wide)).all()

    for host in (0, 1):
        found = events(seen.lines[host])
        assert ["hello", "line", "line", "line", "end"] == [event["event"] for event in found]
        assert f"log of {host}" in seen.lines[host]
        assert (HostStage.RUNNING, EndReason.EXITED, 0) == ending(seen.ended[host])
        assert ("--coordinator" in found[0]["words"]) == (name == "5")
    assert (HostStage.RUNNING, EndReason.EXITED, 0) == ending(seen.ended[None])
    until(machine.is_clean, "a clean host")


@pytest.mark.root
@pytest.mark.skipif(bool(lacks(None)), reason=lacks(None) or "-")
def test_checks_of_a_slice_run_on_both_hosts(tmp_path: Path) -> None:
    """The probe itself, whose JAX reads its place from Open MPI 4."""
    machine = Machine("4", os.environ["PATH"], tmp_path)
    options = ("--on", "h0,h1", "--set", f"mpi={machine.options['mpi']}")

    done = run_started(tmp_path, "mpi", *options, "jax.slice_devices", env=machine.env)

    report = json.loads(done.stdout)
    assert ("healthy", ExitCode.OK) == (report["verdict"], done.returncode)
    assert [0, 1] == [one["host"] for one in report["hosts"]]


@both
@pytest.mark.parametrize(
    ("does", "code"), [({"code": 3}, 3), ({"die": signal.SIGKILL}, 137)], ids=["exit", "kill"]
)
def test_failing_host_is_named_and_the_other_kept(
    name: str, programs: str, tmp_path: Path, does: dict[str, Any], code: int
) -> None:
    """The other one runs on until it is done."""
    seen = Seen(Machine(name, programs, tmp_path).begin(h0={"sleep": 60}, h1=does))

    seen.until(lambda: 1 in seen.ended)
    assert (HostStage.RUNNING, EndReason.EXITED, code) == ending(seen.ended[1])
    assert 0 not in seen.ended

    os.kill(events(seen.lines[0])[0]["pid"], signal.SIGTERM)
    assert 143 == seen.all().ended[0].code


@both
def test_missing_python_is_named_on_each_host(name: str, programs: str, tmp_path: Path) -> None:
    """A missing Python is named for each host by its shell, after the probe has arrived."""
    seen = Seen(Machine(name, programs, tmp_path).begin(python="/no/python")).all()

    for host in (0, 1):
        assert (HostStage.PLACED, EndReason.EXITED, 127) == ending(seen.ended[host])
        assert "/no/python" in seen.ended[host].tail[-1]


@both
def test_stop_ends_both_hosts(name: str, programs: str, tmp_path: Path) -> None:
    """A stop ends both hosts and leaves no process."""
    machine = Machine(name, programs, tmp_path)
    run = machine.begin(h0={"sleep": 600}, h1={"sleep": 600})
    seen = Seen(run)
    seen.running(0, 1)
    processes = [events(seen.lines[host])[0]["pid"] for host in (0, 1)]

    run.stop()
    seen.all()

    assert EndReason.STOPPED == seen.ended[None].ending
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes), "the end of both")
    until(machine.is_clean, "a clean host")


@pytest.mark.skipif(bool(lacks(None)), reason=lacks(None) or "-")
def test_unreachable_host_ends_mpirun_with_its_words(tmp_path: Path) -> None:
    """If a host can't be reached, mpirun starts none and ends with its own message."""
    machine = Machine("4", os.environ["PATH"], tmp_path)
    (tmp_path / "agent").write_text(
        AGENT.replace(
            "exec", '[ "$name" = h1 ] && { echo "no route to $name" >&2; exit 255; }\nexec'
        )
    )

    seen = Seen(machine.begin(h0={"sleep": 60})).all()

    assert 0 != seen.ended[None].code
    assert any("no route to h1" in line for line in seen.lines[None])


def test_open_mpi_5_needs_a_shared_folder(tmp_path: Path) -> None:
    """Open MPI 5 without a shared folder is refused, because the hosts would get no probe."""
    request = LaunchRequest(
        archive=write_probe(tmp_path / "probe.pyz"), hosts=("a", "b"), options={"version": "5"}
    )

    with pytest.raises(Problem):
        mpi_launcher.build_commands(request)
