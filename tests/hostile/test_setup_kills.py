"""A set-up that is killed at any of its writes continues where it was."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_setup import machine, setup, states, tools_of, words
from tests.support.fake_tools import behave, calls
from tests.support.processes import until
from tpustarter.checking.plan import environments
from tpustarter.machine import host

__all__ = ["machine"]

pytestmark = pytest.mark.first_use  # which has the most writes


@pytest.mark.parametrize("place", ["fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 12))
def test_kill_at_write_costs_at_most_one_step(
    place: str, number: int, machine: host.Machine
) -> None:
    """Whatever was being written, the next run ends, and no command runs more than twice."""
    killed = setup(machine, "--yes", kill=f"{place}:{number}")
    done = setup(machine, "--yes")
    told = calls(tools_of(machine))

    assert -signal.SIGKILL == killed.returncode
    assert 0 == done.returncode, done.stdout + done.stderr
    assert ["done"] * 5 == states(machine)
    assert len(told) <= 3
    assert environments.find_proved_environment() == Path(machine.env["HOME"], "tpu")
    assert 0 == setup(machine, "--undo", "--yes").returncode
    assert not Path(machine.env["HOME"], "tpu").exists()


def test_every_write_is_tried(machine: host.Machine) -> None:
    """The twelfth write of a run does not exist: the kills above are all there are."""
    assert 0 == setup(machine, "--yes", kill="fsync:12").returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_stops_command_and_exits_3(number: int, machine: host.Machine) -> None:
    """Ctrl-C, TERM and HUP end the running command with code 3 and say how to continue."""
    behave(tools_of(machine), pip={"sleep": 600})
    with subprocess.Popen(
        words(machine, "-", "--yes"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if "pip works" in line:
                process.send_signal(number)
        said = process.stderr.read()
    pid = int((tools_of(machine) / "pid").read_text())

    assert 3 == process.returncode
    done = "exit 3: install: stopped before it was done, and the 2 steps that are done are kept. "
    assert f"{done}Next: `tpustarter setup " in said
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("verb", ["venv", "pip"])
def test_killed_run_leaves_no_command_and_resumes(verb: str, machine: host.Machine) -> None:
    """SIGKILL in the middle of a command, one that ignores TERM: only that step is done again."""
    behave(tools_of(machine), **{verb: {"sleep": 600, "ignore_term": True}})
    process = subprocess.Popen(words(machine, "-", "--yes"), stdout=subprocess.DEVNULL)
    note = tools_of(machine) / "pid"
    half = Path(machine.env["HOME"], "tpu", "bin", "half")
    until(half.exists, "what a command has half done")
    pid = int(note.read_text())
    process.kill()
    process.wait()

    behave(tools_of(machine))
    done = setup(machine, "--yes")  # waits for what is still ending
    assert 0 == done.returncode, done.stdout + done.stderr
    assert not Path(f"/proc/{pid}").exists()
    assert ["done"] * 5 == states(machine)
    assert {"venv": ["venv", "venv", "pip"], "pip": ["venv", "pip", "pip"]}[verb] == calls(
        tools_of(machine)
    )
    assert (verb == "pip") == half.exists()  # a half-made environment is made from nothing


def test_kill_during_proof_repeats_proof_alone(machine: host.Machine) -> None:
    """After a kill during the proof, only the proof is repeated."""
    with subprocess.Popen(
        words(machine, "-", "--yes"), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("run     prove"):
                process.kill()

    assert ["done", "done", "done", "todo", "todo"] == states(machine)
    assert environments.find_proved_environment() is None
    assert 0 == setup(machine, "--yes").returncode
    assert ["venv", "pip"] == calls(tools_of(machine))
