"""Facts about this machine that need no framework: chips, device nodes, users, slice, container.

Reading them changes nothing: no device node is opened, libtpu's lock is never taken, and nothing is
written. No state of a machine makes a function raise; unknown is `None`, never a guess. This module
travels with the probe, so it uses only the standard library.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tpustarter.machine import metadata as _metadata
from tpustarter.machine import slices, tpus
from tpustarter.machine.containers import Container, detect_container, shared_memory_gib
from tpustarter.machine.duration import format_duration
from tpustarter.machine.generations import Generation
from tpustarter.machine.libtpu_lock import LOCK_FILE, LibtpuLock, read_libtpu_lock
from tpustarter.machine.machine import Machine, clean_text, multiply_topology_bounds, parse_number
from tpustarter.machine.metadata import Metadata
from tpustarter.machine.slices import Slice, all_workers_command
from tpustarter.machine.tpu_processes import (
    TpuProcess,
    can_read_every_process,
    list_tpu_processes,
    read_process,
)

__all__ = [
    "LOCK_FILE",
    "NO_TPU",
    "Chip",
    "Container",
    "DeviceNode",
    "LibtpuLock",
    "Machine",
    "Metadata",
    "Slice",
    "TpuProcess",
    "all_workers_command",
    "can_read_every_process",
    "clean_text",
    "count_reachable_chips",
    "count_visible_devices",
    "describe_unknown_devices",
    "detect_container",
    "find_generation",
    "find_slice",
    "find_unmet_check_need",
    "format_duration",
    "guess_platform",
    "has_nvidia_gpu",
    "is_google_cloud",
    "list_chips",
    "list_device_nodes",
    "list_tpu_processes",
    "metadata",
    "multiply_topology_bounds",
    "other_google_devices",
    "parse_number",
    "read_device_node",
    "read_libtpu_lock",
    "read_process",
    "shared_memory_gib",
    "unknown_google_devices",
]

NO_TPU = "no TPU on this machine"

GOOGLE = "0x1ae0"
"""PCI vendor id of TPUs and other Google devices.

Source: jax/_src/hardware_utils.py at cec06d1 (read 2026-11).
"""

OTHER_DEVICES = {
    0x001F: "NVMe disk",
    0x0042: "gVNIC network card",
    0x0087: "memory control of the hypervisor",
    0x5CED: "scheduling control of the hypervisor",
    0xABCD: "Pixel Neural Core",
}
"""Google's PCI devices that are not TPUs. Sources: pci.ids of 2023-04 (001f, 0042, abcd), Linux's
drivers/virt/pvmemcontrol.c (0087) and ChromeOS's pvsched (5ced), read 2026-11.
"""
OTHER_CLASSES = {0x01: "storage", 0x02: "network", 0x06: "bridge"}
"""PCI device classes that no TPU has, keyed by the first byte of /sys/bus/pci/devices/*/class."""

TPU_VARIABLES = ("TPU_ACCELERATOR_TYPE", "TPU_WORKER_HOSTNAMES", "CLOUD_TPU_TASK_ID")
"""Variables set if GKE, Colab or Kaggle attach a TPU; Colab also sets COLAB_TPU_1VM=1."""


@dataclass(frozen=True)
class Chip:
    """A TPU chip on PCI."""

    address: str
    """PCI domain:bus:device, without the function: a TPU7x chip is two functions of one device."""
    generation: str
    """The name of a generation in `generations.py`."""
    functions: int
    nodes: tuple[str, ...]
    """Device nodes that it has, or should have; empty if unknown."""
    numa: int | None
    """The NUMA node to which it is attached."""
    driver: str | None
    """The kernel driver to which its first function is bound."""


def _google_devices(machine: Machine) -> list[tuple[str, int | None, Generation | None]]:
    # Each has a PCI address, device id and TPU generation.
    devices: list[tuple[str, int | None, Generation | None]] = []
    for address in machine.list_names("/sys/bus/pci/devices"):
        folder = f"/sys/bus/pci/devices/{address}"
        if machine.read_text(f"{folder}/vendor") == GOOGLE:
            device = parse_number(machine.read_text(f"{folder}/device"), 16)
            subsystem = parse_number(machine.read_text(f"{folder}/subsystem_device"), 16)
            generation = None if device is None else tpus.find_generation_by_pci(device, subsystem)
            devices.append((address, device, generation))
    return devices


def list_chips(machine: Machine) -> list[Chip]:
    """Return the TPU chips on PCI, ordered by address."""
    functions: dict[str, list[str]] = {}
    generations: dict[str, Generation] = {}
    for address, _, generation in _google_devices(machine):
        if generation is not None:
            chip = address.rpartition(".")[0] or address
            functions.setdefault(chip, []).append(f"/sys/bus/pci/devices/{address}")
            generations[chip] = generation
    present = {node.path for node in list_device_nodes(machine)} if functions else set[str]()
    tpu_chips: list[Chip] = []
    for index, (address, folders) in enumerate(functions.items()):
        numa = parse_number(machine.read_text(f"{folders[0]}/numa_node"))
        groups = {_name(machine.read_link(f"{folder}/iommu_group")) for folder in folders}
        tpu_chips.append(
            Chip(
                address=address,
                generation=generations[address].name,
                functions=len(folders),
                nodes=_nodes_of(generations[address].nodes, index, groups, present),
                numa=numa if numa is not None and numa >= 0 else None,
                driver=_name(machine.read_link(f"{folders[0]}/driver")),
            )
        )
    return tpu_chips


def _nodes_of(
    kind: str | None, index: int, groups: set[str | None], present: set[str]
) -> tuple[str, ...]:
    # Users report both kinds for v5e, so existing nodes take precedence over the table.
    accel = (f"/dev/accel{index}",)
    vfio = tuple(sorted(f"/dev/vfio/{group}" for group in groups if group))
    first, second = (accel, vfio) if kind == "accel" else (vfio, accel)
    return second if present.isdisjoint(first) and not present.isdisjoint(second) else first


def count_reachable_chips(machine: Machine) -> int | None:
    """Return the number of chips whose device nodes all exist, or None if unknown."""
    tpu_chips, present = list_chips(machine), {node.path for node in list_device_nodes(machine)}
    if not tpu_chips:
        return len(present) if guess_platform(machine) == "tpu" else None
    if not all(chip.nodes for chip in tpu_chips):
        return min(len(tpu_chips), len(present))
    return sum(1 for chip in tpu_chips if present.issuperset(chip.nodes))


def _name(link: str | None) -> str | None:
    return clean_text(link.rpartition("/")[2]) if link else None


def other_google_devices(machine: Machine) -> list[str]:
    """Return address, id and kind of Google's PCI devices that are not TPUs, such as a gVNIC."""
    return [
        f"{address} ({_pci_id(device)}, {kind})"
        for address, device, tpu in _google_devices(machine)
        if tpu is None and (kind := _other_kind(machine, address, device))
    ]


def unknown_google_devices(machine: Machine) -> list[str]:
    """Return the ids, such as `1ae0:0099`, of Google's PCI devices that may be unknown TPUs.

    They are not counted as chips, because nothing is known about them, but the machine may have a
    TPU.
    """
    ids = {
        _pci_id(device)
        for address, device, tpu in _google_devices(machine)
        if tpu is None and not _other_kind(machine, address, device)
    }
    return sorted(ids)


def _other_kind(machine: Machine, address: str, device: int | None) -> str | None:
    pci_class = parse_number(machine.read_text(f"/sys/bus/pci/devices/{address}/class"), 16)
    by_class = None if pci_class is None else OTHER_CLASSES.get(pci_class >> 16)
    return OTHER_DEVICES.get(device) or by_class if device is not None else by_class


def _pci_id(device: int | None) -> str:
    # In the form of `lspci -n`.
    return f"{GOOGLE[2:]}:{'?' if device is None else f'{device:04x}'}"


@dataclass(frozen=True)
class DeviceNode:
    """A device node, described without opening it."""

    path: str
    readable: bool
    writable: bool
    owner: str
    mode: str
    """Permissions in the form of `ls -l`, such as `crw-rw----`."""


def read_device_node(machine: Machine, path: str) -> DeviceNode | None:
    """Return a device node without opening it, or None if it does not exist."""
    status = machine.read_status(path)
    if status is None:
        return None
    readable, writable = machine.has_access(path, os.R_OK), machine.has_access(path, os.W_OK)
    owner = machine.user_name(status.st_uid)
    return DeviceNode(path, readable, writable, owner, stat.filemode(status.st_mode))


def list_device_nodes(machine: Machine) -> list[DeviceNode]:
    """Return the device nodes of a TPU: /dev/accelN (v2 to v4) and /dev/vfio/N (v5e and later).

    /dev/vfio/N may instead belong to another device passed through to a virtual machine.
    """
    accel = [name for name in machine.list_names("/dev") if re.fullmatch(r"accel\d+", name)]
    groups = [name for name in machine.list_names("/dev/vfio") if name.isdecimal()]
    paths = [f"/dev/{name}" for name in sorted(accel, key=lambda name: int(name[5:]))]
    paths += [f"/dev/vfio/{name}" for name in sorted(groups, key=int)]
    return [device_node for path in paths if (device_node := read_device_node(machine, path))]


def find_generation(machine: Machine, metadata: Metadata | None = None) -> Generation | None:
    """Return the generation of the chips, or else of the accelerator type; None if chips differ."""
    names = {chip.generation for chip in list_chips(machine)}
    if names:
        return tpus.find_generation(names.pop()) if len(names) == 1 else None
    kind = slices.find_tpu_type(machine, metadata)[0]
    return kind.generation if kind else None


def metadata(machine: Machine, timeout_s: float | None = None) -> Metadata:
    """Return the metadata server's values, within `timeout_s` seconds of wall time in total."""
    if not is_google_cloud(machine):
        return Metadata("not-google", "not a Google Cloud machine")
    return _metadata.fetch_metadata(machine, timeout_s)


def is_google_cloud(machine: Machine) -> bool:
    """Return whether this is a Google Cloud machine, without using the network."""
    names = [
        machine.read_text(f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")
    ]
    server = machine.env.get("GCE_METADATA_HOST") or machine.env.get("GCE_METADATA_IP")
    has_google = bool(list_chips(machine) or unknown_google_devices(machine))
    return any("Google" in (name or "") for name in names) or bool(server) or has_google


def find_slice(machine: Machine, metadata: Metadata | None = None) -> Slice:
    """Return this machine's slice; without `metadata`, from the variables alone."""
    return slices.find_slice(machine, metadata, len(list_chips(machine)))


def count_visible_devices(machine: Machine, metadata: Metadata | None = None) -> int | None:
    """Return the number of devices that a process on this machine should see, or None if unknown.

    It is the number of chips on PCI, without those whose nodes are missing or that the user's
    variables hide, times the devices per chip. Zero means that there are chips, but none can be
    reached.
    """
    tpu, reachable = find_generation(machine, metadata), count_reachable_chips(machine)
    if tpu is None or tpu.devices_per_chip is None or reachable is None:
        return None
    names = ("TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES")
    limits = [len(_metadata.split_entries(machine.env.get(name))) for name in names]
    limits.append(multiply_topology_bounds(machine.env.get("TPU_CHIPS_PER_PROCESS_BOUNDS")) or 0)
    return min(reachable, *(limit or reachable for limit in limits)) * tpu.devices_per_chip


def guess_platform(machine: Machine) -> Literal["tpu", "cpu"]:
    """Return `tpu` for chips on PCI, or for device nodes that variables confirm; otherwise `cpu`.

    Colab and Kaggle may hide PCI. Only Google's driver creates /dev/accelN, but /dev/vfio/N may
    belong to other devices.
    """
    if list_chips(machine):
        return "tpu"
    env, paths = machine.env, [node.path for node in list_device_nodes(machine)]
    announced = any(env.get(name) for name in TPU_VARIABLES) or env.get("COLAB_TPU_1VM") == "1"
    announced = announced or env.get("PJRT_DEVICE") == "TPU"
    return "tpu" if any(announced or path.startswith("/dev/accel") for path in paths) else "cpu"


def describe_unknown_devices(ids: Sequence[str]) -> str:
    """Return a phrase for unknown Google devices that does not claim that they are TPUs."""
    return (
        f"but {'an ' if len(ids) == 1 else ''}unknown Google PCI device{'s' * (len(ids) > 1)} "
        + (", ".join(ids))
    )


def has_nvidia_gpu(machine: Machine) -> bool:
    """Return whether this machine has an NVIDIA GPU or its driver."""
    return any(machine.read_status(name) for name in ("/dev/nvidia0", "/proc/driver/nvidia"))


def find_unmet_check_need(machine: Machine, needs: Mapping[str, object]) -> str | None:
    """Return a need of a check that this host does not meet, with the value found, or None.

    Only the keys `chips` (a number), `container` and `google_cloud` are judged.
    """
    if isinstance(chips := needs.get("chips"), int) and chips:
        hint = guess_platform(machine) == "tpu"
        count = len(list_chips(machine)) or (len(list_device_nodes(machine)) if hint else 0)
        if count == 0:
            unknown = unknown_google_devices(machine)
            return f"no TPU known here, {describe_unknown_devices(unknown)}" if unknown else NO_TPU
        if count < chips:
            return f"this machine has only {count} of the {chips} TPU chips that are needed"
    if needs.get("container") and detect_container(machine) is None:
        return "this is not a container"
    if needs.get("google_cloud") and not is_google_cloud(machine):
        return "this is not a Google Cloud machine"
    return None
