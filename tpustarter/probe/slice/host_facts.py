"""The facts of one host that need no other host: versions, settings, chips, clock."""

from __future__ import annotations

import fnmatch
import os
import socket
import sys
import time

from tpustarter.machine import frameworks, host
from tpustarter.probe.slice.host_position import HostPosition
from tpustarter.probe.slice.messages import CollectedFacts
from tpustarter.probe.target import target

COMPARED = (
    "JAX_*",
    "XLA_*",
    "LIBTPU_INIT_ARGS",
    "TPU_CHIPS_PER_*",
    "TPU_HOST_BOUNDS",
    "TPU_PROCESS_BOUNDS",
    "TPU_VISIBLE_*",
    "TPU_WORKER_HOSTNAMES",
    "MEGASCALE_NUM_SLICES",
    "MEGASCALE_COORDINATOR_ADDRESS",
)
"""Glob patterns for variables that must be the same on every host."""

MAY_DIFFER = (
    "JAX_COMPILATION_CACHE_DIR",
    "JAX_PROCESS_ID",
    "JAX_COORDINATOR_BIND_ADDRESS",
    "JAX_LOCAL_*",
    "XLA_PERSISTENT_CACHE_PATH",
)
"""Those of them that may differ between hosts."""


def collect_host_facts(place: HostPosition) -> CollectedFacts:
    """Return the facts that this host sends: short text and numbers, ready for JSON."""
    machine = host.Machine(root=target().root, uid=target().uid)
    metadata = host.metadata(machine)
    shape = host.find_slice(machine, metadata)
    return {
        "host": place.host,
        "hosts": place.hosts,
        "name": socket.gethostname(),
        "process": os.getpid(),
        "python_version": sys.version.split()[0],
        "frameworks": frameworks.read_versions()["frameworks"],
        "chips": host.count_reachable_chips(machine) or len(host.list_chips(machine)),
        "platform": target().platform,
        "devices": target().devices,
        "generation": target().generation,
        "accelerator_type": shape.accelerator_type,
        "worker": shape.worker,
        "settings": _settings(machine),
        "time": time.time(),
    }


def _settings(machine: host.Machine) -> dict[str, str]:
    return {
        name: host.clean_text(value, 300)
        for name, value in sorted(machine.env.items())
        if _matches(name, COMPARED) and not _matches(name, MAY_DIFFER)
    }


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
