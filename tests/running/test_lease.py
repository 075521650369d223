"""One lease on a machine: its holder is named, and it ends with its holder."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from tpustarter.cloud.billing import ledger
from tpustarter.cloud.billing.ledger import LedgerEntry
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.progress import lesson_progress
from tpustarter.machine.host import Machine
from tpustarter.running import lease
from tpustarter.setup.environment import made_environment


def test_second_holder_learns_current_holder() -> None:
    """The name and the process id of the first one are in the refusal."""
    with (
        lease.hold_lease("tpustarter check"),
        pytest.raises(Problem) as refused,
        lease.hold_lease("lesson x"),
    ):
        pass

    assert ExitCode.BUSY == refused.value.code
    assert f"the TPU is held by tpustarter check, pid {os.getpid()}" in refused.value.full_text


def test_released_lease_can_be_taken_again() -> None:
    """A released lease can be taken again, whatever its file says about the earlier holder."""
    for name in ("first", "second"):
        with lease.hold_lease(name):
            pass


@pytest.mark.parametrize(
    "note",
    [
        "{",
        "[1]",
        "{}",
        "null",
        '"x"',
        "[" * 99_999,
        '{"what": "x", "pid": 1, "since": "now"}',
        '{"what": "x", "pid": 1, "since": Infinity}',
        '{"what": "x", "pid": 1, "since": [1e308]}',
    ],
)
def test_damaged_note_loses_only_holder_name(note: str) -> None:
    """The lock counts, not the words beside it."""
    with lease.hold_lease("first"):
        (locations.make_state_folder() / "lease.json").write_text(note)
        with (
            pytest.raises(Problem, match="the TPU is held by another tpustarter"),
            lease.hold_lease("x"),
        ):
            pass


@pytest.mark.parametrize("kind", ["the device", "the ledger", "a set-up", "progress"])
def test_lease_is_refused_without_file_locks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs would have the device, or one an entry of the ledger that the other wrote over."""
    no_locks = OSError(errno.ENOLCK, "No locks available")
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=no_locks))
    ends = {
        "the device": lambda: lease.hold_lease("x").__enter__(),
        "the ledger": lambda: ledger.add_ledger_entry(
            LedgerEntry("p", "z", "n", "v6e-8", 8, "spot", "now")
        ),
        "a set-up": lambda: made_environment.hold_setup_lock().__enter__(),
        "progress": lambda: lesson_progress.record_hint("jax/precision", "x", 1),
    }
    if kind == "progress":
        ends[kind]()
        return
    with pytest.raises(Problem) as refused:
        ends[kind]()

    assert ExitCode.CONFIGURATION == refused.value.code
    assert [] == ledger.read_ledger()


def test_lease_names_kind_of_accelerator(tmp_path: Path) -> None:
    """On a machine with a GPU and no TPU, the lease names the GPU."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    machine = Machine(tmp_path)
    with (
        lease.hold_device_lease("lesson x", machine),
        pytest.raises(Problem, match="the GPU is held by lesson x"),
        lease.hold_device_lease("lesson y", machine),
    ):
        pass


@pytest.mark.parametrize("is_earlier", [False, True])
def test_lock_file_of_root_is_removed(tmp_path: Path, *, is_earlier: bool) -> None:
    """Root removes a lock file that appeared during the lease, but not an earlier one."""
    path = tmp_path / "tmp/libtpu_lockfile"
    path.parent.mkdir()
    if is_earlier:
        path.touch()
    with lease.hold_device_lease("tpustarter check", Machine(tmp_path)):
        path.touch()

    assert path.exists() == (is_earlier or os.geteuid() != 0)
