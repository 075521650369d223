"""A set-up that is killed at any of its writes goes on where it was."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.test_setup import calls, machine, setup, states, tools_of
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
    assert environments.find_proved() == Path(machine.env["HOME"], "tpu")
    assert 0 == setup(machine, "--undo", "--yes").returncode
    assert not Path(machine.env["HOME"], "tpu").exists()


def test_every_write_is_tried(machine: host.Machine) -> None:
    """The twelfth write of a run does not exist: the kills above are all there are."""
    assert 0 == setup(machine, "--yes", kill="fsync:12").returncode
