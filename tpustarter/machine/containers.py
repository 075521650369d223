"""The container that this process runs in, if any: its kind, network and shared memory."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal

from tpustarter.machine.machine import Machine


@dataclass(frozen=True)
class Container:
    """The container that this process runs in."""

    kind: Literal["docker", "podman", "kubernetes", "other"]
    host_network: bool | None
    """True if it shares the host's network; None if unknown."""
    shm_gib: float | None
    """Size of /dev/shm in GiB."""


def detect_container(machine: Machine) -> Container | None:
    """Return the container that this process runs in, or None if there is no sign of one."""
    groups = "".join(machine.read_text(f"/proc/{pid}/cgroup") or "" for pid in ("1", "self"))
    mounts = (machine.read_text("/proc/self/mountinfo") or "").splitlines()
    # The line for "/" names the engine's folder even if cgroups are hidden.
    signs = groups + " ".join(line for line in mounts if line.split()[4:5] == ["/"])
    kind: Literal["docker", "podman", "kubernetes", "other"] | None = None
    if machine.env.get("KUBERNETES_SERVICE_HOST") or "kubepods" in signs:
        kind = "kubernetes"
    elif machine.read_status("/run/.containerenv") or "containers/storage" in signs:
        kind = "podman"
    elif machine.read_status("/.dockerenv") or re.search(r"/docker[/-]", signs):
        kind = "docker"
    elif machine.env.get("container") or re.search(r"/(lxc|containerd)[/.]", signs):
        kind = "other"
    return Container(kind, _host_network(machine), shared_memory_gib(machine)) if kind else None


def _host_network(machine: Machine) -> bool | None:
    # A physical network card, or Docker's bridge, shows that the network is the host's. A virtual
    # cable (veth) refers to its other end's number, which is not its own.
    folder, names = "/sys/class/net", set(machine.list_names("/sys/class/net"))
    if not names:
        return None
    others = names - {"lo"}
    if any(machine.read_link(f"{folder}/{name}/device") or name == "docker0" for name in others):
        return True
    ends = [[machine.read_text(f"{folder}/{n}/{f}") for f in ("ifindex", "iflink")] for n in others]
    return False if all(own and peer and own != peer for own, peer in ends) else None


def shared_memory_gib(machine: Machine) -> float | None:
    """Return the size of the /dev/shm mount in GiB, or None if it is not a mount."""
    for line in (machine.read_text("/proc/mounts") or "").splitlines():
        fields = line.split()
        size = re.search(r"\bsize=(\d+)([kmg]?)\b", fields[3]) if len(fields) > 3 else None
        if fields[1:2] == ["/dev/shm"] and size:  # noqa: S108 -- a mount to look at
            return int(size[1]) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[size[2]] / 2**30
    try:
        shm = machine.path("/dev/shm")  # noqa: S108 -- a mount to look at
        status = os.statvfs(shm)
        return status.f_blocks * status.f_frsize / 2**30 if shm.is_mount() else None
    except OSError:
        return None
