"""The file of a worker, and how many are connected at a time."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.fake_remote import behave, calls, lay_remote
from tests.support.processes import HANG_S, until
from tpustarter.cloud.jobs import remote_command, worker_output
from tpustarter.cloud.jobs.remote_command import RemoteCommand, WorkerCommand, WorkerEnded
from tpustarter.cloud.jobs.worker_output import WorkerLog


def test_the_file_keeps_both_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long output keeps both ends, with the number of bytes left out between them."""
    monkeypatch.setattr(worker_output, "HEAD_BYTES", 100)
    log = WorkerLog(tmp_path / "w0.log")
    for _ in range(100):
        log.write(b"begin" if log.size == 0 else b"x" * 1000)
    log.write(b"end")
    log.close()

    data = (tmp_path / "w0.log").read_bytes()
    assert data.startswith(b"begin")
    assert data.endswith(b"end")
    left_out = 5 + 99 * 1000 + 3 - 100 - 64 * 1024
    assert f"[{left_out} bytes left out]".encode() in data


def test_old_output_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old output is removed; recent output is kept, because its run may not have ended."""
    monkeypatch.setattr(worker_output, "MOST_RUNS", 2)
    folders = [worker_output.make_output_folder("bert") for _ in range(4)]
    assert all(folder.exists() for folder in folders)
    for folder in folders:
        os.utime(folder, (0, 0))

    last = worker_output.make_output_folder("bert")

    assert 2 == len([folder for folder in (*folders, last) if folder.exists()])
    assert last.exists()


def test_eight_are_connected_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent worker counts as connecting for a while, and what has no turn is named."""
    monkeypatch.setattr(remote_command, "CONNECTED_AFTER_S", 1000.0)
    tools = lay_remote(tmp_path / "tools")
    behave(tools, all={"say": "", "sleep": 3600})
    jobs = [WorkerCommand(f"w{i}", (str(tools / "gcloud"), f"--worker={i}")) for i in range(20)]

    def now() -> float:
        """Return a time at the limit as soon as eight have started."""
        has_started = len([*tools.glob("started-*")]) >= 8
        return time.monotonic() + has_started * HANG_S

    monkeypatch.setattr(remote_command, "time", SimpleNamespace(monotonic=now))
    ended = [
        one
        for one in RemoteCommand(jobs, tmp_path, timeout_s=HANG_S).events()
        if isinstance(one, WorkerEnded)
    ]

    assert 8 == len(calls(tools))
    whats = sorted(one.what for one in ended)
    expected = ["was ended at the time limit"] * 8 + ["was not started within the time limit"] * 12
    assert expected == whats
    assert 124 == remote_command.worst_exit_code(ended)


def test_a_program_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    """A program that can't be started is named, and the others run."""
    tools = lay_remote(tmp_path / "tools")
    jobs = [
        WorkerCommand("w0", (str(tmp_path / "missing"), "--worker=0")),
        WorkerCommand("w1", (str(tools / "gcloud"), "--worker=1")),
    ]

    ended = {
        one.command.label: one
        for one in RemoteCommand(jobs, tmp_path).events()
        if isinstance(one, WorkerEnded)
    }

    assert (127, 0) == (ended["w0"].code, ended["w1"].code)


def test_fast_worker_blocks_until_read(tmp_path: Path) -> None:
    """A fast worker blocks until its output is read, so memory doesn't fill up."""
    tools = lay_remote(tmp_path / "tools")
    behave(tools, all={"bytes": 10**9})
    events = RemoteCommand(
        [WorkerCommand("w0", (str(tools / "gcloud"), "--worker=0"))], tmp_path
    ).events()
    next(events)

    sizes: list[int] = []

    def waits() -> bool:  # as many looks see the same
        sizes.append((tmp_path / "w0.log").stat().st_size)
        return sizes[-1] > 0 and 1 == len(set(sizes[-50:])) and len(sizes) >= 50

    until(waits, "a worker that has to wait")
    events.close()

    assert 0 < sizes[-1] < 32 * 2**20
