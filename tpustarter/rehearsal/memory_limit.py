"""How much memory of this machine a rehearsal may take, and how it is told that it wanted more.

A program with large constants can make the compiler take all there is, and the kernel would end
some other process for it. `probe.memory_watch` enforces the limit.
"""

from __future__ import annotations

from typing import Any, cast

from tpustarter.checking import outcomes
from tpustarter.machine.machine import Machine
from tpustarter.machine.memory import available_bytes
from tpustarter.probe.memory_watch import LIMIT
from tpustarter.running.process import Event

SHARE = 0.8
"""How much of the memory that is available at the start a rehearsal may take."""


def variables(machine: Machine, limit: int | None) -> dict[str, str]:
    """Return what tells the supervisors the limit; none where the machine does not say."""
    if limit is None and (available := available_bytes(machine)) is not None:
        limit = int(SHARE * available)
    return {} if limit is None else {LIMIT: str(limit)}


def process_ending(gone: Event) -> str:
    """Say how a process ended that should not have; of one that took too much memory, that."""
    return excess(gone) or outcomes.process_ending(gone)[2]


def excess(gone: Event) -> str | None:
    """Say that a process was ended for its memory, if it was."""
    memory: Any = gone.get("memory")
    if not isinstance(memory, dict):
        return None
    fields = cast("dict[str, Any]", memory)
    resident, limit = fields.get("resident_bytes"), fields.get("limit_bytes")
    if type(resident) is not int or type(limit) is not int:
        return None
    return (
        f"it was ended when it held {resident / 2**30:.2f} GiB of this machine's memory: a "
        f"rehearsal may take {limit / 2**30:.2f} GiB in all, {SHARE * 100:.0f} % of what was "
        "available when it began"
    )
