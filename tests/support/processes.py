"""The one wait function of the tests, and the processes that were started for a state folder.

A wait ends on a fact. Its timeout is only for hangs, so long that a busy machine never reaches it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

HANG_S = 120.0
"""Seconds after which anything counts as hung. No timeout in a test is below 60 s."""
PAUSE_S = 0.01
"""Seconds between two polls of a condition, on which no result depends."""

T = TypeVar("T")


def until(
    condition: Callable[[], T],
    awaited: str | Callable[[], object] = "what it waits for",
    seconds: float = HANG_S,
) -> T:
    """Wait until a condition holds, and return its value.

    Args:
        condition: The function that is called until it returns something true.
        awaited: The awaited condition in words, or a function that returns the state instead.
        seconds: The timeout after which the test fails, because something hangs.
    """
    for _ in _tries(awaited, seconds):
        if value := condition():
            return value
        time.sleep(PAUSE_S)
    raise AssertionError  # not reached: the tries end with an error of their own


async def until_async(
    condition: Callable[[], T | Awaitable[T]],
    awaited: str | Callable[[], object] = "what it waits for",
    seconds: float = HANG_S,
) -> T:
    """Do the same as `until` without blocking the event loop."""
    for _ in _tries(awaited, seconds):
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        await asyncio.sleep(PAUSE_S)
    raise AssertionError  # not reached: the tries end with an error of their own


def _tries(awaited: str | Callable[[], object], seconds: float) -> Iterator[None]:
    """Yield until the timeout, then raise AssertionError."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
    text = awaited if isinstance(awaited, str) else awaited()
    raise AssertionError(f"not within {seconds:g} s: {text}")


@contextlib.contextmanager
def in_bounded_time() -> Iterator[None]:
    """Fail if a search uses a minute of processor time, as it does if it is not linear."""
    began = time.process_time()  # without waits on a busy machine
    yield
    assert time.process_time() - began < HANG_S / 2


def is_running(pid: int) -> bool:
    """Return whether a process is alive; a zombie is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def processes(home: Path) -> dict[int, str]:
    """Return the live processes that were started for a state folder, with a name for each."""
    living: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            words = (folder / "cmdline").read_bytes().split(b"\0")
            variables = (folder / "environ").read_bytes()
        except (OSError, IndexError):
            continue
        if state not in "ZX" and f"TPUSTARTER_HOME={home}\0".encode() in variables:
            kinds = [word.decode() for word in words if word in (b"supervise", b"child")]
            living[int(folder.name)] = (kinds or ["another"])[0]
    return living


def until_gone(home: Path) -> float:
    """Wait until no process of a state folder is left, and return the seconds waited."""
    began = time.monotonic()
    until(lambda: not processes(home), lambda: f"the end of {processes(home)}")
    return time.monotonic() - began
