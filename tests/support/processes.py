"""The one wait of the tests, and the processes that were started for a state folder.

A wait ends on a fact. Its limit is for what hangs: a machine that does other work never reaches it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

HANG_S = 120.0
"""Whatever takes so long hangs. A limit of a test is never below 60 s."""
PAUSE_S = 0.01
"""Between two looks at a condition; nothing is judged by it."""

T = TypeVar("T")


def until(
    condition: Callable[[], T],
    awaited: str | Callable[[], object] = "what it waits for",
    seconds: float = HANG_S,
) -> T:
    """Wait until a condition holds, and return its value.

    Args:
        condition: Is asked again and again, until it returns something true.
        awaited: Says what is waited for, or returns what is there in its place.
        seconds: After so many without it the test fails, because something hangs.
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
    """Do as `until` does, in an event loop that goes on meanwhile."""
    for _ in _tries(awaited, seconds):
        value = condition()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        await asyncio.sleep(PAUSE_S)
    raise AssertionError  # not reached: the tries end with an error of their own


def _tries(awaited: str | Callable[[], object], seconds: float) -> Iterator[None]:
    """Yield until the limit, and then raise."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
    text = awaited if isinstance(awaited, str) else awaited()
    raise AssertionError(f"not within {seconds:g} s: {text}")


@contextlib.contextmanager
def in_bounded_time() -> Iterator[None]:
    """Fail where a search takes the processor for a minute, as it does if it is not linear."""
    began = time.process_time()  # not the time that a busy machine keeps it waiting
    yield
    assert time.process_time() - began < HANG_S / 2


def is_running(pid: int) -> bool:
    """Return whether a process lives; one that ended and waits for its parent does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def processes(home: Path) -> dict[int, str]:
    """Return the living processes that were started for this state folder, with a word for each."""
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
    """Wait until no process is left that was started for a state folder; return the seconds."""
    began = time.monotonic()
    until(lambda: not processes(home), lambda: f"the end of {processes(home)}")
    return time.monotonic() - began
