"""Threads for workers, and their stop by signal handlers that interrupt each other."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.support.processes import HANG_S
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.jobs.remote_command import RemoteCommand
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings, WorkerTasks, call_once
from tpustarter.cloud.jobs.worker_threads import StopFlag, WorkerThreads


def interrupt_at_each_line(call: Callable[[], None]) -> None:
    """Call something, and call it again at each line that it runs, as signals would."""
    step, steps, is_nested = -1, 0, False

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal step, is_nested
        step += event == "line"
        if event == "line" and step == at and not is_nested:
            is_nested = True
            call()
        return trace

    for at in range(200):
        step, is_nested = -1, False
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(None)
        steps = step
        if at >= steps:
            return
    pytest.fail(f"{steps} lines are more than were tried")


def ends(call: Callable[[], None]) -> bool:
    """Return whether a call returns; it runs in its own thread, as it may deadlock."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(HANG_S)
    return not thread.is_alive()


def make_tasks(_folder: Path, _stack: contextlib.ExitStack) -> Callable[[], None]:
    """Return the function that stops the calls of a job."""
    settings = ConnectionSettings(Project("my-project", "-"), "/bin/true")
    return WorkerTasks(settings, [], call_once(lambda _: {})).stop


def make_command(folder: Path, _stack: contextlib.ExitStack) -> Callable[[], None]:
    """Return the function that stops a command on all workers."""
    return RemoteCommand([], folder).stop


def make_busy_threads(_folder: Path, stack: contextlib.ExitStack) -> Callable[[], None]:
    """Return the function that stops two threads at work."""
    threads = WorkerThreads[int]()
    for _ in range(2):
        stack.enter_context(threads.on_stop(StopFlag().set))
    return threads.stop


@pytest.mark.parametrize("make", [make_tasks, make_command, make_busy_threads])
def test_second_signal_never_waits_for_first(
    make: Callable[[Path, contextlib.ExitStack], Callable[[], None]], tmp_path: Path
) -> None:
    """Ctrl-C twice stops all, wherever the second one interrupts the handler of the first."""
    with contextlib.ExitStack() as stack:
        stop = make(tmp_path, stack)

        assert ends(lambda: interrupt_at_each_line(stop))


def test_work_begun_after_stop_is_interrupted() -> None:
    """Work that a thread begins after the stop is interrupted at once."""
    threads, interrupted = WorkerThreads[int](), StopFlag()
    threads.stop()

    with threads.on_stop(interrupted.set):
        assert interrupted.is_set()


def test_flag_wakes_every_thread() -> None:
    """All threads that wait go on once it is set, and later ones don't wait."""
    flag = StopFlag()
    threads = [threading.Thread(target=flag.wait, args=(HANG_S,), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert not flag.is_set()

    flag.set()

    for thread in threads:
        thread.join(HANG_S / 2)
        assert not thread.is_alive()
    assert flag.is_set()
    assert ends(lambda: flag.wait(10 * HANG_S))


def test_flag_that_is_not_set_ends_wait() -> None:
    """A wait ends after its limit, and the flag is not set by that."""
    flag = StopFlag()

    flag.wait(0.0)

    assert not flag.is_set()


def test_broken_work_ends_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The events of a thread are read up to its end, also if its function breaks."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    threads, seen = WorkerThreads[int](), list[int]()

    def work(number: int) -> None:
        threads.put(number)
        raise ValueError

    assert ends(lambda: seen.extend(threads.run(work, range(3))))
    assert [0, 1, 2] == sorted(seen)
