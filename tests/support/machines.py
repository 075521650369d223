"""Lays out a machine in a folder: PCI, device nodes, processes and locks, as host.py reads them.

    machine = lay_out(tmp_path, "v5e", chips=8, holder={"pid": 4242}, lock="live")
    machine = lay_out(tmp_path)                                     # a laptop

Nodes are plain files, and nothing is started. `env` is the whole environment of the machine; the
metadata address of a TPU machine points to a closed port unless `env` sets one, so that no test
queries the real server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tpustarter.machine import host

PCI = {
    "v2": ("0x0027", "0x004e"),
    "v3": ("0x0027", "0x004f"),
    "v4": ("0x005e", "0x0000"),
    "v5e": ("0x0063", "0x0000"),
    "v5p": ("0x0062", "0x0000"),
    "v6e": ("0x006f", "0x0000"),
    "tpu7x": ("0x0076", "0x0000"),
}
CLOSED = "127.0.0.1:9"
UPTIME_S = 100_000.0


def lay_out(
    root: Path,
    generation: str | None = None,
    *,
    chips: int = 4,
    nodes: int | bool = True,
    holder: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    lock: str | None = None,
    gvnic: bool = False,
    google_device: str | None = None,
    google: bool | None = None,
    container: str | None = None,
    host_network: bool = True,
    shm_gib: float = 16,
    thp: str = "[always] madvise never",
    env: Mapping[str, str] | None = None,
    uid: int | None = None,
) -> host.Machine:
    """Lay out a machine below `root`.

    Args:
        root: An existing folder, often `tmp_path`.
        generation: The generation of the TPU chips; None for a machine without a TPU.
        chips: Number of chips on PCI.
        nodes: True if all chips have device nodes, or the number of those that do.
        holder: Processes with a node open: pid, and any of user, command, age_s, node, state.
        lock: libtpu's lock file: `stale`, `live` (held by pid 4242, or by the holder) or `foreign`.
        gvnic: Put Google's network card on PCI.
        google_device: Id of one more Google device on PCI, such as `0x0099`.
        google: True if the firmware names Google; None for true on a machine with chips.
        container: `docker`, `podman`, `kubernetes` or None.
        host_network: True if the container shares the host's network.
        shm_gib: Size of /dev/shm in GiB.
        thp: The setting of transparent huge pages in /sys.
        env: The user's environment.
        uid: The user whose rights are judged; None for the caller of the test.
    """
    found = chips if generation else 0
    _write(
        root / "etc/passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n"
    )
    for folder in ("tmp", "home/alice", "dev/shm", "sys/bus/pci/devices"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    _write(root / "sys/kernel/mm/transparent_hugepage/enabled", thp + "\n")
    google = bool(found) if google is None else google
    _write(root / "sys/class/dmi/id/sys_vendor", "Google\n" if google else "LENOVO\n")
    _write(root / "proc/uptime", f"{UPTIME_S} 1.0\n")
    _write(root / "proc/mounts", f"tmpfs /dev/shm tmpfs rw,size={int(shm_gib * 2**20)}k 0 0\n")
    if generation:
        _pci(root, generation, found)
        _nodes(root, generation, found if nodes is True else int(nodes))
    if gvnic:
        _device(root, "0000:00:02.0", "0x0042", "0x0058")
    if google_device:
        _device(root, "0000:00:03.0", google_device, "0x0000")
    holders = [holder] if isinstance(holder, Mapping) else list(holder or ())
    for process in [{"pid": 1, "node": None, "command": "/sbin/init", "user": 0}, *holders]:
        _process(root, generation, **process)
    _lock(root, lock, holders[0]["pid"] if holders else 4242)
    _container(root, container, host_network=host_network)
    variables = {"HOME": "/home/alice", "PATH": "/usr/bin:/bin"}
    variables |= {"GCE_METADATA_HOST": CLOSED} if google else {}
    variables |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1"} if container == "kubernetes" else {}
    return host.Machine(root, {**variables, **(env or {})}, uid)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _pci(root: Path, generation: str, chips: int) -> None:
    for index in range(chips):
        for function in range(2 if generation == "tpu7x" else 1):
            address = f"0000:00:{index + 4:02x}.{function}"
            _device(root, address, *PCI[generation], group=str(index))


def _device(root: Path, address: str, device: str, subsystem: str, group: str = "") -> None:
    folder = root / "sys/bus/pci/devices" / address
    ids = {"vendor": "0x1ae0", "device": device, "subsystem_device": subsystem, "numa_node": "-1"}
    for name, value in ids.items():
        _write(folder / name, value + "\n")
    if group:
        (folder / "iommu_group").symlink_to(f"../../../kernel/iommu_groups/{group}")
        (folder / "driver").symlink_to("../../../bus/pci/drivers/vfio-pci")


def node_of(generation: str | None, index: int = 0) -> str:
    """Return the device node of a chip."""
    return f"/dev/accel{index}" if generation in ("v2", "v3", "v4") else f"/dev/vfio/{index}"


def _nodes(root: Path, generation: str, count: int) -> None:
    paths = [node_of(generation, index) for index in range(count)]
    paths += [] if generation in ("v2", "v3", "v4") else ["/dev/vfio/vfio"]
    for path in paths:
        _write(root / path.lstrip("/"), "")
        (root / path.lstrip("/")).chmod(0o666)


def _process(
    root: Path,
    generation: str | None,
    *,
    pid: int,
    user: int = 1000,
    command: str = "python train.py",
    age_s: float = 7500,
    node: str | None = "",
    state: str = "S",
) -> None:
    folder = root / "proc" / str(pid)
    started = int((UPTIME_S - age_s) * os.sysconf("SC_CLK_TCK"))
    name = command.split(maxsplit=1)[0].rpartition("/")[2]
    _write(folder / "stat", f"{pid} ({name}) {state} 1 {'0 ' * 17}{started} 0 0\n")
    _write(folder / "comm", name + "\n")
    _write(folder / "cmdline", "" if state == "Z" else command.replace(" ", "\0") + "\0")
    _write(folder / "status", f"Name:\t{name}\nUid:\t{user}\t{user}\t{user}\t{user}\n")
    # A dead thread-group leader has no open files, but its threads do.
    files = folder / "task" / str(pid + 1) / "fd" if state == "Z" else folder / "fd"
    for made in (folder / "fd", files):
        made.mkdir(parents=True, exist_ok=True)
    if node is not None:
        (files / "3").symlink_to(node or node_of(generation))


def _lock(root: Path, state: str | None, pid: int) -> None:
    """Write libtpu's lock file; a `foreign` one is accessible only to its owner."""
    _write(root / "proc/locks", "1: FLOCK  ADVISORY  WRITE 1 00:01:1 0 EOF\n")
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    if state is None:
        return
    path = root / "tmp/libtpu_lockfile"
    _write(path, "")
    path.chmod(0o600 if state == "foreign" else 0o666)
    about = path.stat()
    device = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    if state == "live":
        _write(root / "proc/locks", f"1: POSIX  ADVISORY  WRITE {pid} {device} 0 EOF\n")


def _container(root: Path, kind: str | None, *, host_network: bool) -> None:
    network = root / "sys/class/net"
    shared = host_network or kind is None
    for name, index, other in (("lo", 1, 1), ("eth0", 2, 2 if shared else 77)):
        _write(network / name / "ifindex", f"{index}\n")
        _write(network / name / "iflink", f"{other}\n")
    if shared:
        (network / "eth0/device").symlink_to("../../../0000:00:02.0")
    if kind == "docker":
        _write(root / ".dockerenv", "")
    elif kind == "podman":
        _write(root / "run/.containerenv", "")
