"""host.py counts chips, nodes and devices, and tells containers and needs apart."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machines import lay_out, node_of
from tpustarter.machine import host

CHIPS = {"v2": 4, "v3": 4, "v4": 4, "v5e": 8, "v5p": 4, "v6e": 8, "tpu7x": 4}
DEVICES = {"v2": 8, "v3": 8, "v4": 4, "v5e": 8, "v5p": 4, "v6e": 8, "tpu7x": 8}


@pytest.mark.parametrize("generation", CHIPS)
def test_chips_and_devices_are_counted_by_generation(tmp_path: Path, generation: str) -> None:
    """A TPU7x chip is two PCI functions and two devices, a v4 chip is one of each."""
    machine = lay_out(tmp_path, generation, chips=CHIPS[generation])
    chips = host.list_chips(machine)

    assert len(chips) == CHIPS[generation]
    assert {chip.generation for chip in chips} == {generation}
    assert chips[0].nodes == (node_of(generation),)
    assert host.count_visible_devices(machine) == DEVICES[generation]
    assert host.find_generation(machine).name == generation
    assert host.guess_platform(machine) == "tpu"


@pytest.mark.parametrize("device", ["0x001f", "0x0042", "0x0087"])
def test_another_google_device_is_never_a_chip(tmp_path: Path, device: str) -> None:
    """A network card or a disk of Google's vendor id is known to be no TPU."""
    machine = lay_out(tmp_path, google_device=device)

    assert host.list_chips(machine) == []
    assert host.unknown_google_devices(machine) == []
    assert f"1ae0:{device[2:]}" in host.other_google_devices(machine)[0]
    assert host.guess_platform(machine) == "cpu"
    assert host.find_unmet_check_need(machine, {"chips": 1}) == "no TPU on this machine"


@pytest.mark.parametrize(
    ("device", "pci_class", "unknown"),
    [
        ("0x0099", None, ["1ae0:0099"]),
        ("0x0099", "0xff0000", ["1ae0:0099"]),
        ("0x0056", "0x120000", ["1ae0:0056"]),
        ("0x0099", "0x020000", []),
        ("0x0099", "0x010802", []),
        ("nonsense", None, ["1ae0:?"]),
    ],
)
def test_unknown_google_device_is_reported_with_its_id(
    tmp_path: Path, device: str, pci_class: str | None, unknown: list[str]
) -> None:
    """An unknown Google accelerator is reported by its id; network cards and disks aren't."""
    machine = lay_out(tmp_path, google_device=device)
    if pci_class:
        (tmp_path / "sys/bus/pci/devices/0000:00:03.0/class").write_text(pci_class + "\n")
    unmet = host.find_unmet_check_need(machine, {"chips": 1}) or ""

    assert unknown == host.unknown_google_devices(machine)
    assert host.list_chips(machine) == []
    assert host.guess_platform(machine) == "cpu"
    assert bool(unknown) is ("unknown Google PCI device" in unmet)
    assert bool(unknown) is host.is_google_cloud(machine)


def test_laptop_has_no_tpu_and_raises_nothing(tmp_path: Path) -> None:
    """An empty folder, as on a system without /proc and /sys, is a machine without a TPU."""
    machine = host.Machine(tmp_path, {})

    assert host.list_chips(machine) == []
    assert host.list_device_nodes(machine) == []
    assert host.find_generation(machine) is None
    assert host.list_tpu_processes(machine) == []
    assert host.can_read_every_process(machine) is None
    assert host.read_libtpu_lock(machine) == host.LibtpuLock("unusable", why="no folder")
    assert host.metadata(machine).state == "not-google"
    assert host.count_visible_devices(machine) is None
    assert host.detect_container(machine) is None
    assert host.shared_memory_gib(machine) is None
    assert host.has_nvidia_gpu(machine) is False
    assert host.guess_platform(machine) == "cpu"
    assert host.find_unmet_check_need(machine, {"chips": 1}) == "no TPU on this machine"


def test_garbage_on_machine_is_unknown(tmp_path: Path) -> None:
    """Binary files, folders where files should be, and half a process are all survived."""
    machine = lay_out(tmp_path, "v5e", chips=2, holder={"pid": 4242})
    device = tmp_path / "sys/bus/pci/devices"
    (device / "0000:00:04.0/device").write_bytes(b"\xff\x00\x1b[31m")
    (device / "0000:00:05.0/numa_node").write_bytes(b"\xfe\xff")
    (device / "0000:00:06.0/vendor").mkdir(parents=True)
    (tmp_path / "proc/4242/stat").write_text("4242 (py")
    (tmp_path / "proc/locks").write_bytes(b"\x00\xff POSIX\n1: POSIX\n")
    (tmp_path / "proc/mounts").write_bytes(b"\xff\xfe\n\n a\n")

    assert len(host.list_chips(machine)) == 1
    assert host.unknown_google_devices(machine) == ["1ae0:?"]
    assert host.list_tpu_processes(machine) == []
    assert host.shared_memory_gib(machine) is None


@pytest.mark.parametrize(
    ("nodes", "env", "expected"),
    [
        (3, {}, 3),
        (0, {}, 0),
        (8, {"TPU_VISIBLE_CHIPS": "0,1"}, 2),
        (8, {"TPU_VISIBLE_DEVICES": "5"}, 1),
        (8, {"TPU_CHIPS_PER_PROCESS_BOUNDS": "2,2,1"}, 4),
        (8, {"TPU_CHIPS_PER_PROCESS_BOUNDS": "two"}, 8),
    ],
)
def test_devices_are_those_this_process_can_reach(
    tmp_path: Path, nodes: int, env: dict[str, str], expected: int
) -> None:
    """Missing nodes and the user's variables both hide chips."""
    machine = lay_out(tmp_path, "v5e", chips=8, nodes=nodes, env=env)

    assert host.count_visible_devices(machine) == expected


def test_v5e_with_older_device_node_is_reachable(tmp_path: Path) -> None:
    """A v5e with /dev/accelN instead of /dev/vfio/N is reachable too."""
    machine = lay_out(tmp_path, "v5e", chips=4, nodes=False)
    for index in range(4):
        (tmp_path / f"dev/accel{index}").touch()

    assert host.list_chips(machine)[3].nodes == ("/dev/accel3",)
    assert host.count_reachable_chips(machine) == 4


def test_hidden_pci_with_nodes_and_variables_is_tpu(tmp_path: Path) -> None:
    """Colab's variables and a node mean a TPU; a vfio node alone may be any device."""
    colab = {"COLAB_TPU_1VM": "1", "TPU_ACCELERATOR_TYPE": "v5e-1"}
    with_variables = lay_out(tmp_path / "a", env=colab)
    (tmp_path / "a/dev/vfio").mkdir()
    (tmp_path / "a/dev/vfio/0").touch()
    without = host.Machine(tmp_path / "a", {})

    assert host.guess_platform(with_variables) == "tpu"
    assert host.count_visible_devices(with_variables) == 1
    assert host.find_unmet_check_need(with_variables, {"chips": 1}) is None
    assert host.guess_platform(without) == "cpu"
    assert host.guess_platform(lay_out(tmp_path / "b", env=colab)) == "cpu"


def test_rights_are_judged_without_opening(tmp_path: Path) -> None:
    """Owner's bits are not everybody's."""
    lay_out(tmp_path, "v5e", chips=1)
    (tmp_path / "dev/vfio/0").chmod(0o640)
    other = host.Machine(tmp_path, {}, uid=os.getuid() + 1)

    assert host.read_device_node(other, "/dev/vfio/0").readable is False
    assert host.read_device_node(host.Machine(tmp_path, {}), "/dev/vfio/0").writable is True
    assert host.read_device_node(other, "/dev/vfio/0").mode == "-rw-r-----"


def test_linux_may_refuse_world_writable_file(tmp_path: Path) -> None:
    """With fs.protected_regular, /tmp's files of other users can't be opened with O_CREAT."""
    machine = lay_out(tmp_path, "v5e", lock="stale", uid=os.getuid() + 1)
    (tmp_path / "proc/sys/fs").mkdir(parents=True)
    (tmp_path / "proc/sys/fs/protected_regular").write_text("2\n")
    if os.getuid() == 0:
        os.chown(tmp_path / "tmp/libtpu_lockfile", 12345, 12345)
        assert host.read_libtpu_lock(machine).state == "foreign"
    else:
        assert host.read_libtpu_lock(machine).state == "stale", (
            "the folder's owner may leave files for all"
        )


@pytest.mark.parametrize("kind", ["docker", "podman", "kubernetes"])
@pytest.mark.parametrize("host_network", [True, False])
def test_kinds_of_container_are_distinguished(
    tmp_path: Path, kind: str, host_network: bool
) -> None:
    """Kind, network and shared memory, each as the container shows it."""
    machine = lay_out(tmp_path, "v5e", container=kind, host_network=host_network, shm_gib=0.0625)

    assert host.detect_container(machine) == host.Container(kind, host_network, 0.0625)  # type: ignore[arg-type]


def test_container_is_recognised_by_root_mount_alone(tmp_path: Path) -> None:
    """If cgroups are hidden, the mount of `/` still identifies the container engine."""
    line = "1 0 0:1 / / rw - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A\n"
    machine = lay_out(tmp_path)
    (tmp_path / "proc/self").mkdir()
    (tmp_path / "proc/self/mountinfo").write_text(line)

    assert (host.detect_container(machine) or pytest.fail("no container")).kind == "docker"


@pytest.mark.parametrize(
    ("needs", "reason"),
    [
        ({"chips": 1}, None),
        ({"chips": 8}, "this machine has only 4 of the 8 TPU chips that are needed"),
        ({"container": True}, "this is not a container"),
        ({"google_cloud": True}, None),
        ({"devices": 2}, None),
    ],
)
def test_unmet_needs_are_named_with_found_values(
    tmp_path: Path, needs: dict[str, object], reason: str | None
) -> None:
    """Keys that are not the host's are left to others."""
    assert host.find_unmet_check_need(lay_out(tmp_path, "v5e", chips=4), needs) == reason


def test_importing_host_is_cheap() -> None:
    """Importing host loads no network module."""
    code = (
        "import tpustarter.machine.host\n"
        "print([m for m in ('http.client', 'ssl') if m in sys.modules])"
    )
    folder = Path(host.__file__).parents[2]
    found = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout == "[]\n"
