"""Which processes were started for a state folder, by which each of them is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

GONE_S = 15.0
"""What README promises: so long after a kill no process of ours is left."""
LOAD_S = 5.0
"""More of it on two busy cores."""


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


def until(condition: Callable[[], object], seconds: float) -> float:
    """Wait until a condition holds, or for so long; return how long it took."""
    began = time.monotonic()
    while not condition() and time.monotonic() - began < seconds:
        time.sleep(0.02)
    return time.monotonic() - began
