"""A set-up that is killed at any of its writes goes on where it was."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.test_setup import calls, machine, setup, states, tools_of
from tpustarter.checking import environments
from tpustarter.machine import host

__all__ = ["machine"]


@pytest.mark.parametrize("place", ["fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 11))
def test_a_kill_at_any_write_costs_one_step_at_most(
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
    assert environments.proved() == Path(machine.env["HOME"], "tpu")
    assert 0 == setup(machine, "--undo", "--yes").returncode
    assert not Path(machine.env["HOME"], "tpu").exists()


def test_there_are_no_more_writes_than_are_tried(machine: host.Machine) -> None:
    """The eleventh write of a run does not exist: the kills above are all there are."""
    assert 0 == setup(machine, "--yes", kill="fsync:11").returncode
