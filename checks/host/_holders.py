"""Descriptions of processes that use the TPU, and commands that show or end them."""

from tpustarter.machine import host
from tpustarter.probe.finding import Hint

UNLOCKED = ("TPU_VISIBLE_CHIPS", "TPU_PROCESS_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS")
"""Variables with which libtpu does not use its lock file, as tested with libtpu 0.0.50.1."""


def lock_unused(machine: host.Machine) -> str | None:
    """Return the variable that keeps libtpu from using its lock file, or None if it uses it."""
    if machine.env.get("ALLOW_MULTIPLE_LIBTPU_LOAD", "").lower() in ("1", "true"):
        return "ALLOW_MULTIPLE_LIBTPU_LOAD"
    return next((name for name in UNLOCKED if machine.env.get(name)), None)


def lsof(machine: host.Machine) -> str:
    """Return the command that shows every user's processes with a TPU node or the lock open."""
    paths = [node.path.rstrip("0123456789") for node in host.list_device_nodes(machine)]
    return " ".join(
        ["sudo lsof -w", *(f"{path}[0-9]*" for path in dict.fromkeys(paths)), host.LOCK_FILE]
    )


def who(holder: host.TpuProcess) -> str:
    """Return pid, user, age and command of a process."""
    age = f" for {host.format_duration(holder.age_s)}" if holder.age_s is not None else ""
    ended = ", ended but not reaped" if holder.zombie else ""
    return f"pid {holder.pid}, {holder.user}{age}{ended}: {holder.command}"


def end_hint(holder: host.TpuProcess) -> str:
    """Return the advice that frees the TPU."""
    if holder.zombie:
        return "wait until the kernel releases it, or restart this machine"
    if holder.is_notebook_kernel:
        return "restart the kernel of that notebook, or shut it down"
    pid = holder.pid
    return Hint(f"wait until it ends, or end it if it is yours: `kill {pid}`", ends=pid)
