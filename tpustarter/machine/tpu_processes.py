"""Users of the TPU: the processes with a device node open, as far as this user can see them.

Reading them changes nothing: no device node is opened, and other processes' environments are never
read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from tpustarter.machine import command_line
from tpustarter.machine.machine import Machine, clean_text, parse_number

NODE = re.compile(r"/dev/(accel|vfio/)\d+")
"""Source: tpu_info/device.py 0.14.2, get_chip_owners (read 2026-11)."""


@dataclass(frozen=True)
class TpuProcess:
    """A process that has a TPU device node open."""

    pid: int
    parent: int | None
    user: str
    command: str
    """Its program and script, without other arguments."""
    age_s: float | None
    """Seconds since it was started."""
    zombie: bool
    """True if its main thread has ended while another thread keeps the node open."""
    nodes: tuple[str, ...]

    @property
    def is_notebook_kernel(self) -> bool:
        """True for Jupyter's kernel, which Kaggle has too, and for Colab's.

        Source: github.com/googlecolab/colabtools/issues/3409 (read 2026-11).
        """
        return "ipykernel" in self.command or "colab_kernel_launcher" in self.command


def list_tpu_processes(machine: Machine) -> list[TpuProcess]:
    """Return the processes that have a TPU device node open, as far as this user can see them."""
    processes: list[TpuProcess] = []
    for pid in filter(str.isdecimal, machine.list_names("/proc")):
        nodes = _open_nodes(machine, pid)
        if nodes and (holder := read_process(machine, int(pid), nodes)):
            processes.append(holder)
    return sorted(processes, key=lambda holder: holder.pid)


def _open_nodes(machine: Machine, pid: str) -> set[str]:
    # Threads can outlive the main thread and keep a node open.
    folders = [f"/proc/{pid}/fd"]
    if not machine.list_names(folders[0]):
        folders += [
            f"/proc/{pid}/task/{task}/fd" for task in machine.list_names(f"/proc/{pid}/task")
        ]
    links = (
        machine.read_link(f"{folder}/{fd}")
        for folder in folders
        for fd in machine.list_names(folder)
    )
    return {link for link in links if link and NODE.fullmatch(link)}


def read_process(machine: Machine, pid: int, nodes: Iterable[str] = ()) -> TpuProcess | None:
    """Return a process by its id, or None if it is gone."""
    line = machine.read_text(f"/proc/{pid}/stat") or ""
    fields = line.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    state, parent, started = fields[0], parse_number(fields[1]), parse_number(fields[19])
    command = ""
    # Reading the command line of a process stuck in the kernel can hang too; its name cannot.
    if state not in "DZX":
        command = command_line.shorten_command_line(
            machine.read_text(f"/proc/{pid}/cmdline", 4096) or ""
        )
    uptime_s = re.match(r"\d+(\.\d+)?", machine.read_text("/proc/uptime") or "")
    age_s = None
    if uptime_s and started is not None:
        age_s = max(0.0, float(uptime_s[0]) - started / os.sysconf("SC_CLK_TCK"))
    text = machine.read_text(f"/proc/{pid}/status") or ""
    uid = re.search(r"^Uid:\s+(\d+)", text, re.MULTILINE)
    return TpuProcess(
        pid=pid,
        parent=parent,
        user=machine.user_name(int(uid[1])) if uid else "unknown user",
        command=command or f"[{clean_text(line[line.find('(') + 1 : line.rfind(')')])}]",
        age_s=age_s,
        zombie=state in "ZX",
        nodes=tuple(sorted(nodes)),
    )


def can_read_every_process(machine: Machine) -> bool | None:
    """Return whether this user can see every process's open files, or None without /proc."""
    pids = [name for name in machine.list_names("/proc") if name.isdecimal()]
    return all(machine.has_access(f"/proc/{pid}/fd", os.R_OK) for pid in pids) if pids else None
