"""Runs a set-up in its own process: `drive_setup.py ROOT ENV KILL ARGUMENT...`.

ROOT and ENV (JSON) are those of a laid-out machine. KILL is `-`, or `fsync:3` to die by SIGKILL at
the third call of `os.fsync`, or `replace:3` likewise: the two steps of every write of state.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import pathlib
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import pytest

from tests.support.places import TESTS
from tpustarter import __main__
from tpustarter.machine import host
from tpustarter.setup.environment.environment_setup import EnvironmentSetup
from tpustarter.setup.machine.machine_setup import MachineSetup

CHECKS = TESTS / "samples" / "machine_checks"


def kill_at(place: str, number: int) -> None:
    """Kill the process at call number `number` of a function that writes state."""
    owner = os if place == "fsync" else pathlib.Path
    real, left = getattr(owner, place), [number]

    def counted(*arguments: object) -> object:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    setattr(owner, place, counted)


if __name__ == "__main__":
    root, env, kill, *arguments = sys.argv[1:]
    machine = host.Machine(Path(root), json.loads(env))
    if kill != "-":
        kill_at(kill.split(":")[0], int(kill.split(":")[1]))
    command = importlib.import_module("tpustarter.cli.setup")

    class LaidOutEnvironment(EnvironmentSetup):
        """The set-up of an environment on the laid-out machine."""

        __init__ = functools.partialmethod(
            EnvironmentSetup.__init__, machine=machine, checks=CHECKS, own=[]
        )

    class LaidOutMachine(MachineSetup):
        """The set-up of the laid-out machine."""

        __init__ = functools.partialmethod(MachineSetup.__init__, machine=machine)

    patch = pytest.MonkeyPatch()  # it raises if there is no such name to replace
    patch.setattr(command, "EnvironmentSetup", LaidOutEnvironment)
    patch.setattr(command, "MachineSetup", LaidOutMachine)
    sys.argv = ["tpustarter", "setup", *arguments]
    __main__.main()
