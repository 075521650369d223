"""The limit on a rehearsal's memory on this machine, and the message when it is exceeded.

A program with large constants can make the compiler use all memory, and the kernel would then kill
some other process. `probe.rehearse.host_memory_watch` enforces the limit.
"""

from __future__ import annotations

import msgspec

from tpustarter.checking.run import outcomes
from tpustarter.core.json_values import as_type
from tpustarter.machine.machine import Machine
from tpustarter.machine.memory import available_memory_bytes
from tpustarter.probe.rehearse.host_memory_watch import LIMIT
from tpustarter.running.process import ProbeGoneEvent

SHARE = 0.8
"""Share of the memory available at the start that a rehearsal may use."""


class _Memory(msgspec.Struct):
    resident_bytes: int
    limit_bytes: int


def memory_limit_variables(machine: Machine, limit: int | None) -> dict[str, str]:
    """Return the variables that pass the limit to the supervisors; empty if it is unknown."""
    if limit is None and (available := available_memory_bytes(machine)) is not None:
        limit = int(SHARE * available)
    return {} if limit is None else {LIMIT: str(limit)}


def explain_process_end(gone: ProbeGoneEvent) -> str:
    """Return the reason why a process ended unexpectedly, the memory limit included."""
    return format_memory_excess(gone) or outcomes.make_process_ending(gone)[2]


def format_memory_excess(gone: ProbeGoneEvent) -> str | None:
    """Return the message for a process that exceeded the memory limit, or None for any other."""
    memory = as_type(gone.get("memory"), _Memory)
    return memory and (
        f"it was ended when it held {memory.resident_bytes / 2**30:.2f} GiB of this machine's "
        f"memory: a rehearsal may take {memory.limit_bytes / 2**30:.2f} GiB in all, "
        f"{SHARE * 100:.0f} % of what was available when it began"
    )
