"""One lease on a machine: who holds it is said, and it ends with its holder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tpustarter import locations
from tpustarter.machine.host import Machine
from tpustarter.problem import ExitCode, Problem
from tpustarter.running import lease


def test_a_second_holder_is_told_who_has_it() -> None:
    """The name and the process id of the first one are in the refusal."""
    with lease.hold("tpustarter check"), pytest.raises(Problem) as refused, lease.hold("lesson x"):
        pass

    assert ExitCode.BUSY == refused.value.code
    assert f"the TPU is held by tpustarter check, pid {os.getpid()}" in refused.value.what


def test_a_lease_that_was_let_go_can_be_had_again() -> None:
    """What the file says of an earlier holder does not count."""
    for name in ("first", "second"):
        with lease.hold(name):
            pass


def test_a_note_that_is_damaged_costs_only_the_name() -> None:
    """The lock counts, not the words beside it."""
    with lease.hold("first"):
        (locations.state() / "lease.json").write_text("{")
        with pytest.raises(Problem, match="the TPU is held by another tpustarter"), lease.hold("x"):
            pass


def test_the_accelerator_is_called_what_it_is(tmp_path: Path) -> None:
    """Beside a GPU and no TPU, nobody is told that a TPU is held."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    machine = Machine(tmp_path)
    with (
        lease.device("lesson x", machine),
        pytest.raises(Problem, match="the GPU is held by lesson x"),
        lease.device("lesson y", machine),
    ):
        pass
