"""The locked-memory limit is high enough."""

from __future__ import annotations

import re

from tpustarter.checks.host import _docker
from tpustarter.machine import host, notebook_services
from tpustarter.probe.finding import Finding, NoAnswer
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {"container": True, "chips": 1}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "setup/docker"
SOURCE = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/tpus#privileged-mode"
OPTIONAL = True

IPC_LOCK = 1 << 14
"""The right to lock memory without a limit: CAP_IPC_LOCK of linux/capability.h."""
POD = "make the pod privileged, or give it SYS_RESOURCE and run `ulimit -l 68719476736` in it"


def run(machine: host.Machine | None = None):
    """Compare the limit with the memory of this machine: more than that is never locked.

    The kernel counts what a program maps for a device on /dev/vfio. Google asks for a higher limit
    in containers; for a TPU VM no public page names one.
    """
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    limit, memory, inside = _limit(machine), _memory(machine), host.detect_container(machine)
    vfio = any(path.startswith("/dev/vfio/") for path in _paths(machine))
    enough = _may_lock_all(machine) or limit == "unlimited" or not vfio
    enough = enough or (isinstance(limit, int) and memory is not None and limit >= memory)
    low = isinstance(limit, int) and not enough
    judged = low and inside is not None and not notebook_services.find_notebook_service(machine.env)
    hint = POD if inside and inside.kind == "kubernetes" else inside and _docker.restart(inside)
    yield Finding(
        code="HOST-LOCKED-MEMORY",
        name="limit of locked memory, `ulimit -l`",
        verdict="warn" if judged else "ok" if enough else "info",
        found=_words(machine, limit),
        expected="unlimited, or as much as this machine has" if judged else None,
        hint=hint if judged else None,
    )
    if limit is None and not enough:
        raise NoAnswer("this kernel does not report the limit")


def _paths(machine: host.Machine) -> list[str]:
    expected = [path for chip in host.list_chips(machine) for path in chip.nodes]
    return [*expected, *(node.path for node in host.list_device_nodes(machine))]


def _limit(machine: host.Machine) -> int | str | None:
    text = machine.read_text("/proc/self/limits") or ""
    match = re.search(r"^Max locked memory\s+(\d+|unlimited)\s", text, re.MULTILINE)
    return (int(match[1]) if match[1].isdecimal() else match[1]) if match else None


def _memory(machine: host.Machine) -> int | None:
    text = machine.read_text("/proc/meminfo") or ""
    match = re.search(r"^MemTotal:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _may_lock_all(machine: host.Machine) -> bool:
    text = machine.read_text("/proc/self/status") or ""
    match = re.search(r"^CapEff:\s*([0-9a-f]{1,16})$", text, re.MULTILINE)
    return bool(match and int(match[1], 16) & IPC_LOCK)


def _words(machine: host.Machine, limit: int | str | None) -> str:
    if _may_lock_all(machine):
        return "none, because this process has CAP_IPC_LOCK"
    if isinstance(limit, int):
        return f"{limit // 1024} KiB"
    return limit or "unknown, because this kernel does not report it"
