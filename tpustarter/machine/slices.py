"""The TPU slice that this machine is part of: its type, its hosts, and this host's number."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from tpustarter.machine import tpus
from tpustarter.machine.machine import Machine, clean_text, multiply_topology_bounds, parse_number
from tpustarter.machine.metadata import Metadata, empty_mapping, split_entries

MACHINE_TYPE = "metadata machine-type"

SLICE_VM_CHIPS = 4
"""Chips per host in a slice of several hosts; a host with another number is a slice by itself."""

BOUNDS = {1: "1,1,1", 4: "2,2,1", 8: "2,4,1"}
"""Topology of a host's chips, by their number. Source: `get_topology_desc` of libtpu 0.0.50.1 for
v5e and v6e (measured 2026-11).
"""


@dataclass(frozen=True)
class HostCountMismatch:
    """A number of hosts that does not fit the slice's type."""

    hosts: int
    source: str
    expected: int
    """The number of hosts that is usual for the type."""
    confines: bool
    """True if a variable set it, which may confine this process to its own host on purpose."""


@dataclass(frozen=True)
class Slice:
    """The TPU slice that this machine is part of; unknown fields are None."""

    worker: int | None
    """This host's number in its slice, from 0."""
    hosts: int | None
    """Number of hosts; if their names and the type contradict each other, the larger one."""
    accelerator_type: str | None
    """The machine's own name for its type, such as `v5litepod-16`."""
    devices: int | None
    """Number of devices in the whole slice, as a framework counts them."""
    host_devices: int | None
    """Number of devices on this host."""
    host_chips: int | None
    """Number of chips on this host, according to its type."""
    waits: bool
    """True if a framework started on this host alone would wait for the others."""
    chips_per_host_bounds: str | None
    """Topology of this host's chips, such as `2,2,1`."""
    sources: Mapping[str, str] = field(default_factory=empty_mapping)
    """The variable or metadata key from which each field was read."""
    misfit: HostCountMismatch | None = None
    """The number of hosts, if it does not fit the type."""


def find_slice(machine: Machine, metadata: Metadata | None, chips: int) -> Slice:
    """Return the slice according to variables and metadata; `chips` is the number on PCI."""
    kind, text, type_source = find_tpu_type(machine, metadata)
    hosts, hosts_source = _hosts(machine, metadata)
    worker, worker_source = _worker(machine, metadata)
    # A machine type names one host; one with four chips may be part of a larger slice.
    whole = kind is not None and type_source != MACHINE_TYPE
    if hosts is None and kind and (whole or kind.chips != SLICE_VM_CHIPS):
        hosts, hosts_source = kind.hosts, type_source
    misfit = _misfit(kind, hosts, hosts_source) if kind and whole else None
    if misfit and misfit.expected > misfit.hosts and not misfit.confines:
        hosts, hosts_source = misfit.expected, type_source
    parts = _parts(kind, hosts, metadata) if whole else 1
    size_known = kind is not None and (whole or hosts == 1)
    devices = kind.devices if kind and size_known else None
    host_devices = _share(kind.devices if kind else None, parts)
    sources = {
        "worker": worker_source,
        "hosts": hosts_source,
        "accelerator_type": type_source,
        "devices": type_source if devices else "",
        "host_devices": type_source if host_devices else "",
    }
    return Slice(
        worker=worker,
        hosts=hosts,
        accelerator_type=text or None,
        devices=devices,
        host_devices=host_devices,
        host_chips=_share(kind.chips if kind else None, parts),
        waits=(hosts or 1) > 1
        and multiply_topology_bounds(machine.env.get("TPU_PROCESS_BOUNDS")) != 1,
        chips_per_host_bounds=_bounds(metadata, chips),
        sources={name: source for name, source in sources.items() if source},
        misfit=misfit,
    )


def _misfit(kind: tpus.TpuType, hosts: int | None, source: str) -> HostCountMismatch | None:
    if hosts is None or _fits(kind, hosts):
        return None
    return HostCountMismatch(
        hosts, source, kind.hosts, hosts == 1 and not source.startswith("metadata")
    )


def _fits(kind: tpus.TpuType, hosts: int) -> bool:
    return (_share(kind.chips, hosts) or 0) in kind.generation.chips_per_host


def _parts(kind: tpus.TpuType | None, hosts: int | None, metadata: Metadata | None) -> int | None:
    # A variable that names only one host may confine this process to its own host.
    ends = len(metadata.worker_endpoints) if metadata else 0
    named_parts = [number for number in (hosts if hosts != 1 else 0, ends) if number]
    if kind is None:
        return next(iter(named_parts), None)
    return next((number for number in named_parts if _fits(kind, number)), kind.hosts)


def _share(total: int | None, parts: int | None) -> int | None:
    return total // parts if total and parts and total % parts == 0 else None


def _bounds(metadata: Metadata | None, chips: int) -> str | None:
    # The metadata's bounds are used only if they match the chips on PCI.
    bounds = metadata.tpu_env.get("CHIPS_PER_HOST_BOUNDS") if metadata else None
    return bounds if chips and multiply_topology_bounds(bounds) == chips else BOUNDS.get(chips)


def find_tpu_type(
    machine: Machine, metadata: Metadata | None
) -> tuple[tpus.TpuType | None, str, str]:
    """Return the TPU type that this machine is part of, its text, and the source of that."""
    candidates = [(machine.env.get("TPU_ACCELERATOR_TYPE"), "TPU_ACCELERATOR_TYPE")]
    if metadata:
        candidates += [
            (metadata.accelerator_type, "metadata accelerator-type"),
            (metadata.tpu_env.get("ACCELERATOR_TYPE"), "metadata tpu-env ACCELERATOR_TYPE"),
            (metadata.machine_type, MACHINE_TYPE),
        ]
    unread, unread_source = "", ""
    for text, source in candidates:
        if not text:
            continue
        try:
            return tpus.parse_type(text), clean_text(text, 40), source
        except LookupError:
            # Every machine has a machine type; one that is not a TPU's is ignored.
            if not unread and source != MACHINE_TYPE:
                unread, unread_source = clean_text(text, 40), source
    return None, unread, unread_source


def _hosts(machine: Machine, metadata: Metadata | None) -> tuple[int | None, str]:
    # Variables take precedence, as in libtpu.
    if names := split_entries(machine.env.get("TPU_WORKER_HOSTNAMES")):
        return len(names), "TPU_WORKER_HOSTNAMES"
    if metadata and metadata.worker_endpoints:
        return len(metadata.worker_endpoints), "metadata worker-network-endpoints"
    if bounds := multiply_topology_bounds(machine.env.get("TPU_HOST_BOUNDS")):
        return bounds, "TPU_HOST_BOUNDS"
    if metadata and (bounds := multiply_topology_bounds(metadata.tpu_env.get("HOST_BOUNDS"))):
        return bounds, "metadata tpu-env HOST_BOUNDS"
    return None, ""


def _worker(machine: Machine, metadata: Metadata | None) -> tuple[int | None, str]:
    for name in ("TPU_WORKER_ID", "CLOUD_TPU_TASK_ID"):
        if (index := parse_number(machine.env.get(name))) is not None:
            return index, name
    if metadata and metadata.worker_number is not None:
        return metadata.worker_number, "metadata agent-worker-number"
    return None, ""


def all_workers_command(
    command: str, machine: Machine | None = None, metadata: Metadata | None = None
) -> str:
    """Return the command that runs `command` on every host of a Cloud TPU slice at once.

    NAME and ZONE are placeholders if this machine does not know its own. Source:
    docs.cloud.google.com/sdk/gcloud/reference/compute/tpus/tpu-vm/ssh (read 2026-11).
    """
    name = clean_text(machine.env.get("TPU_NAME", "")) if machine else ""
    zone = metadata.zone if metadata else None
    return (
        f"gcloud compute tpus tpu-vm ssh {shlex.quote(name or 'NAME')}"
        f" --zone={shlex.quote(zone or 'ZONE')} --worker=all --command={shlex.quote(command)}"
    )
