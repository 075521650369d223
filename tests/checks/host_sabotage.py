"""Machines on which each host check holds, and the sabotage under which it does not."""

from __future__ import annotations

import base64
import hashlib
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.fake_metadata import serve, values
from tests.support.machines import lay_out
from tests.support.processes import HANG_S
from tpustarter.machine import host
from tpustarter.probe.finding import Finding, NoAnswer, Verdict

Findings = list[Finding]

JAX = ("jax", "0.12.0.1", ["jaxlib<=0.12.0.1,>=0.11.2", 'libtpu==0.0.50.*; extra == "tpu"'])
JAXLIB, LIBTPU = ("jaxlib", "0.12.0.1", []), ("libtpu", "0.0.50.1", [])
TORCH_TPU = ("torch_tpu", "0.2.0", ["torch<=2.15,>=2.11", "libtpu>=0.0.50"])
TENSORFLOW_TPU = ("tensorflow-tpu", "2.20.0", ["keras>=3.10.0", "libtpu~=0.0.14"])
TORCH_XLA = ("torch_xla", "2.9.0", ['libtpu==0.0.21; extra == "tpu"'])
TORCH, OLD_LIBTPU = ("torch", "2.9.0", []), ("libtpu", "0.0.21", [])


def run(name: str, machine: host.Machine, **seams: Any) -> Findings:
    """Run a check on a machine."""
    module = importlib.import_module(f"tpustarter.checks.host.{name}")
    return list(module.run(machine, **seams))


def run_to_silence(name: str, machine: host.Machine, **seams: Any) -> tuple[Findings, bool]:
    """Return the findings of a check, and whether it ended without an answer."""
    module = importlib.import_module(f"tpustarter.checks.host.{name}")
    findings: Findings = []
    try:
        findings.extend(module.run(machine, **seams))
    except NoAnswer:
        return findings, True
    return findings, False


def installed(folder: Path, *packages: tuple[str, str, list[str]]) -> list[str]:
    """Lay out installed distributions; returns the path to look them up on."""
    for name, version, requires in packages:
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"  # as wheels spell it
        info.mkdir(parents=True)
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {r}" for r in requires)]
        (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
    return [str(folder)]


def needing(part: str) -> list[tuple[str, str, list[str]]]:
    """Return a JAX that requires a newer version of `part` than the installed one."""
    name, version, requires = JAX
    package = part.replace("-", "_")
    return [(name, version, [*requires, f"{package}>=2.2"]), JAXLIB, (package, "1.26.4", [])]


def usage(free_gib: float) -> Callable[[Path], tuple[int, int, int]]:
    """Return a disk with the given free space."""
    return lambda _: (0, 0, int(free_gib * 2**30))


def sound(root: Path, **options: Any) -> host.Machine:
    """Lay out a TPU VM with 8 chips where everything is in order."""
    return lay_out(root, "v5e", chips=8, **options)


def served(name: str, root: Path, metadata: Mapping[str, str], **options: Any) -> Findings:
    """Run a check on a machine with 8 chips and a metadata server."""
    with serve(metadata) as address:
        env = {"GCE_METADATA_HOST": address, "GCE_METADATA_TIMEOUT": f"{HANG_S:.0f}"}
        env |= options.pop("env", {})
        return run(name, sound(root, env=env, **options))


def container(root: Path, **options: Any) -> Findings:
    """Run the container check in a Docker container."""
    return run("container", sound(root, container="docker", **options))


def frameworks(root: Path, *packages: tuple[str, str, list[str]], **options: Any) -> Findings:
    """Run the frameworks check on a TPU VM with these distributions."""
    return run("frameworks", sound(root, **options), path=installed(root / "site", *packages))


def python(
    root: Path, version: tuple[int, int, int], *packages: tuple[str, str, list[str]]
) -> Findings:
    """Run the check of the Python's version, with these distributions installed."""
    path = installed(root / "site", *packages)
    return run("python", sound(root), version=version, path=path)


def torchax(root: Path, *, text: bytes) -> Findings:
    """Run the frameworks check where torchax and torch_xla share a folder that holds `text`."""
    path = installed(root / "site", ("torchax", "0.0.13", []), TORCH_XLA, TORCH, OLD_LIBTPU)
    file = root / "site/torchax/__init__.py"
    file.parent.mkdir()
    file.write_bytes(text)
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"torchax").digest()).rstrip(b"=").decode()
    record = root / "site/torchax-0.0.13.dist-info/RECORD"
    record.write_text(f"torchax/__init__.py,sha256={digest},7\n")
    return run("frameworks", sound(root), path=path)


def logs(root: Path, mode: int = 0o755, **env: str) -> Findings:
    """Run the logs check where another user made the folder."""
    machine = sound(root, env=env)
    folder = root / "tmp/tpu_logs"
    folder.mkdir()
    folder.chmod(mode)
    return run("tpu_logs", host.Machine(root, machine.env, uid=folder.stat().st_uid + 1))


def locking(
    root: Path, limit: int | str, *, rights: int = 0, generation: str = "v6e", **options: Any
) -> Findings:
    """Run the locked-memory check under a limit, on a machine with 1 GiB of memory."""
    machine = lay_out(root, generation, chips=4, **options)
    own = root / "proc/self"
    own.mkdir(parents=True, exist_ok=True)
    (own / "limits").write_text(f"Max locked memory         {limit}   {limit}   bytes\n")
    (own / "status").write_text(f"Name:\tpython\nCapEff:\t{rights:016x}\n")
    (root / "proc/meminfo").write_text("MemTotal:        1048576 kB\n")
    return run_to_silence("locked_memory", machine)[0]


def environment(root: Path, **env: str) -> Findings:
    """Run the environment check on a TPU VM with these variables."""
    return run("environment", sound(root, env=env))


def on_hosts(name: str, *changes: Mapping[str, Any], hosts: int | None = None) -> Findings:
    """Run a check of all hosts; each host has handed in the usual facts, with its changes."""
    members = [
        {
            "host": number,
            "hosts": hosts or len(changes),
            "name": f"worker-{number}",
            "process": 40 + number,
            "python_version": "3.12.1",
            "frameworks": {"jax": "0.12.0.1", "jaxlib": "0.12.0.1", "libtpu": "0.0.50.1"},
            "chips": 4,
            "devices": 4,
            "accelerator_type": "v5litepod-16",
            "worker": number,
            "settings": {"XLA_FLAGS": "--xla_dump_to=/tmp/x"},
            "clock_ahead_s": 0.2,
            **changed,
        }
        for number, changed in enumerate(changes)
    ]
    module = importlib.import_module(f"tpustarter.checks.host.{name}")
    return list(
        module.run(members, hosts or len(changes)) if "arrived" in name else module.run(members)
    )


SOUND: dict[str, Callable[[Path], Findings]] = {
    "chips": lambda root: run("chips", sound(root, gvnic=True)),
    "container": container,
    "device_nodes": lambda root: run("device_nodes", sound(root)),
    "environment": environment,
    "frameworks": lambda root: frameworks(root, JAX, JAXLIB, LIBTPU),
    "holder": lambda root: run("holder", sound(root, lock="stale")),
    "huge_pages": lambda root: run("huge_pages", sound(root)),
    "locked_memory": lambda root: locking(root, "unlimited", container="docker"),
    "metadata": lambda root: served("metadata", root, values("v5litepod-8")),
    "one_host": lambda root: served("one_host", root, values("v5litepod-8")),
    "python": lambda root: python(root, (3, 12, 1), JAX),
    "slice_alike": lambda _: on_hosts("slice_alike", {}, {}, {}, {}),
    "slice_arrived": lambda _: on_hosts("slice_arrived", {}, {}),
    "space": lambda root: run("space", sound(root), usage=usage(50)),
    "tpu_logs": lambda root: logs(root, 0o1777),
}
"""Each check on a machine where its claim holds."""

Case = tuple[str, Verdict, Callable[[Path], Findings]]


def two_generations(root: Path) -> Findings:
    """Run the chips check where a chip of another generation sits beside the others."""
    machine = sound(root)
    (root / "sys/bus/pci/devices/0000:00:04.0/device").write_text("0x006f\n")
    return run("chips", machine)


def half_a_chip(root: Path) -> Findings:
    """Run the chips check where one chiplet of a TPU7x chip does not show."""
    machine = lay_out(root, "tpu7x", chips=4)
    (root / "sys/bus/pci/devices/0000:00:05.1/vendor").unlink()
    return run("chips", machine)


def forbidden_nodes(root: Path) -> Findings:
    """Run the nodes check for a user without rights on one node."""
    sound(root)
    (root / "dev/vfio/3").chmod(0o600)
    user = (root / "dev/vfio/3").stat().st_uid + 1
    return run("device_nodes", host.Machine(root, {}, uid=user))


def foreign(root: Path, **options: Any) -> host.Machine:
    """Create a machine whose lock file belongs to another user and is held by nobody."""
    machine = sound(root, lock="foreign", **options)
    uid = (root / "tmp/libtpu_lockfile").stat().st_uid + 1
    return host.Machine(root, machine.env, uid)


def lock_is_a_folder(root: Path) -> host.Machine:
    """Lay out a machine where `docker -v` made a folder of libtpu's lock file."""
    machine = sound(root)
    (root / "tmp/libtpu_lockfile").mkdir()
    return machine


SABOTAGE: dict[str, list[Case]] = {
    "chips": [
        ("HOST-CHIPS-COUNT", "warn", lambda root: run("chips", lay_out(root, "v5e", chips=7))),
        ("HOST-CHIPS-KINDS", "fail", two_generations),
        (
            "HOST-CHIPS-UNKNOWN",
            "info",
            lambda root: run("chips", sound(root, google_device="0x0099")),
        ),
        ("HOST-CHIPS-FUNCTIONS", "fail", half_a_chip),
    ],
    "container": [
        ("HOST-CONTAINER-NODES", "fail", lambda root: container(root, nodes=False)),
        ("HOST-CONTAINER-NETWORK", "warn", lambda root: container(root, host_network=False)),
        ("HOST-CONTAINER-SHM", "warn", lambda root: container(root, shm_gib=0.0625)),
    ],
    "device_nodes": [
        ("HOST-NODES-COUNT", "fail", lambda root: run("device_nodes", sound(root, nodes=5))),
        ("HOST-NODES-ACCESS", "warn", forbidden_nodes),
    ],
    "environment": [
        ("HOST-ENVIRONMENT-VARIABLE", verdict, lambda root, e=env: environment(root, **e))
        for verdict, env in [
            ("fail", {"TPU_LOAD_LIBRARY": "0"}),
            ("warn", {"XRT_TPU_CONFIG": "tpu_worker;0;10.0.0.2:8470"}),
            ("warn", {"COLAB_TPU_ADDR": "10.0.0.2:8470"}),
            ("warn", {"TPU_NAME": "grpc://10.0.0.2:8470"}),
            ("warn", {"JAX_PLATFORMS": "cpu"}),
            ("warn", {"JAX_PLATFORM_NAME": "cpu"}),
            ("fail", {"PJRT_DEVICE": "tpu"}),
            ("warn", {"PJRT_DEVICE": "CPU"}),
            ("warn", {"XLA_USE_BF16": "1"}),
            ("warn", {"XLA_DOWNCAST_BF16": "1"}),
            ("warn", {"XLA_USE_32BIT_LONG": "1"}),
            ("fail", {"XLA_FLAGS": "--xla_dump_to=/x --xla_tpu_enable_x=true"}),
            ("fail", {"XLA_FLAGS": "--xla_jf_conv_full_precision=true"}),
            ("fail", {"XLA_FLAGS": "--megascale_x=1"}),
            ("fail", {"LIBTPU_INIT_ARGS": "--xla_gpu_autotune_level=0"}),
            ("fail", {"LIBTPU_INIT_ARGS": "--xla_dump_to=/x"}),
            ("info", {"ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}),
            ("info", {"LD_PRELOAD": "/usr/lib/libtcmalloc.so"}),
        ]
    ]
    + [
        ("HOST-ENVIRONMENT-FLAG", verdict, lambda root, e=env: environment(root, **e))
        for verdict, env in [
            ("fail", {"XLA_FLAGS": "xla_dump_to=/x"}),
            ("fail", {"XLA_FLAGS": "'--xla_dump_to=/x'"}),
            ("fail", {"XLA_FLAGS": "/nope/flags"}),
            ("warn", {"XLA_FLAGS": "flags"}),
            ("fail", {"XLA_FLAGS": "-xla_dump_max_hlo_modules=3"}),
            ("fail", {"XLA_FLAGS": "--tf_xla_auto_jit=2"}),
            ("fail", {"XLA_FLAGS": "--Xla_dump_to=/x"}),
            ("fail", {"XLA_FLAGS": "--xla_cpu-fast=1"}),
            ("fail", {"XLA_FLAGS": "--xla_a=true,--xla_b=3"}),
            ("warn", {"XLA_FLAGS": "--xla_a = true"}),
            ("warn", {"XLA_FLAGS": "--xla_a=true '--xla_b=true'"}),
            ("info", {"XLA_FLAGS": "--xla_dump_to=/a --xla_dump_to=/b"}),
            ("fail", {"LIBTPU_INIT_ARGS": "--xla_tpu_a=true;--xla_tpu_b=3"}),
            ("fail", {"LIBTPU_INIT_ARGS": "--xla_tpu_a='1024'"}),
            ("fail", {"LIBTPU_INIT_ARGS": '--xla_tpu_a="true"'}),
            ("fail", {"LIBTPU_INIT_ARGS": "--xla_tpu-a=true"}),
            ("warn", {"LIBTPU_INIT_ARGS": "xla_tpu_a=true"}),
            ("warn", {"LIBTPU_INIT_ARGS": "'--xla_tpu_a=true'"}),
            ("info", {"LIBTPU_INIT_ARGS": "--xla_tpu_a=1 --xla_tpu_a=2"}),
        ]
    ]
    + [
        ("HOST-ENVIRONMENT-VALUE", verdict, lambda root, e=env: environment(root, **e))
        for verdict, env in [
            ("fail", {"JAX_PLATFORMS": "tpus"}),
            ("fail", {"JAX_PLATFORMS": "tpu, cpu"}),
            ("fail", {"JAX_DEFAULT_MATMUL_PRECISION": "bogus"}),
            ("fail", {"JAX_ENABLE_X64": "banana"}),
            ("fail", {"JAX_NUM_CPU_DEVICES": "x"}),
            ("warn", {"TPU_LIBRARY_PATH": "/nope/libtpu.so"}),
            ("warn", {"MEGASCALE_NUM_SLICES": "2"}),
            ("fail", {"MEGASCALE_NUM_SLICES": "2", "MEGASCALE_SLICE_ID": "2"}),
            ("warn", {"TPU_VISIBLE_CHIPS": "0", "TPU_CHIPS_PER_PROCESS_BOUNDS": "2,2,1"}),
        ]
    ],
    "frameworks": [
        ("HOST-FRAMEWORKS-LIBTPU", "fail", lambda root: frameworks(root, JAX, JAXLIB)),
        ("HOST-FRAMEWORKS-LIBTPU", "fail", lambda root: frameworks(root, TORCH_XLA)),
        ("HOST-FRAMEWORKS-JAXLIB", "fail", lambda root: frameworks(root, JAX, LIBTPU)),
        (
            "HOST-FRAMEWORKS-JAXLIB-PIN",
            "fail",
            lambda root: frameworks(root, JAX, ("jaxlib", "0.10.2", []), LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-LIBTPU-PIN",
            "warn",
            lambda root: frameworks(root, JAX, JAXLIB, ("libtpu", "0.0.21", []), TORCH_XLA),
        ),
        (
            "HOST-FRAMEWORKS-JAX-PIN",
            "warn",
            lambda root: frameworks(
                root, JAX, JAXLIB, LIBTPU, ("tpu-inference", "0.32.0", ["jax==0.11.2"])
            ),
        ),
        (
            "HOST-FRAMEWORKS-TPU-INFERENCE-PIN",
            "fail",
            lambda root: frameworks(
                root,
                JAX,
                JAXLIB,
                LIBTPU,
                ("tpu-inference", "0.31.0", []),
                ("vllm-tpu", "0.32.0", ["tpu-inference==0.32.0"]),
            ),
        ),
        (
            "HOST-FRAMEWORKS-NIGHTLY",
            "fail",
            lambda root: frameworks(root, JAX, JAXLIB, LIBTPU, ("libtpu-nightly", "0.1.dev1", [])),
        ),
        (
            "HOST-FRAMEWORKS-TORCH-PIN",
            "fail",
            lambda root: frameworks(root, ("torch", "2.8.0+cpu", []), TORCH_XLA, LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-TORCH-PIN",
            "fail",
            lambda root: frameworks(root, ("torch", "2.10.0", []), TORCH_XLA, OLD_LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-TORCH-TWICE",
            "fail",
            lambda root: frameworks(root, TORCH, TORCH_XLA, TORCH_TPU, LIBTPU),
        ),
        ("HOST-FRAMEWORKS-TORCH-ALONE", "warn", lambda root: frameworks(root, TORCH)),
        (
            "HOST-FRAMEWORKS-LIBTPU-SHARED",
            "warn",
            lambda root: frameworks(root, JAX, JAXLIB, TORCH, TORCH_XLA, LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-TORCH-XLA-TPU7X",
            "warn",
            lambda root: run(
                "frameworks",
                lay_out(root, "tpu7x"),
                path=installed(root / "site", TORCH, TORCH_XLA, OLD_LIBTPU),
            ),
        ),
        ("HOST-FRAMEWORKS-TORCHAX", "fail", lambda root: torchax(root, text=b"torch_xla's")),
        ("HOST-FRAMEWORKS-TORCHAX", "warn", lambda root: torchax(root, text=b"torchax")),
        (
            "HOST-FRAMEWORKS-TENSORFLOW",
            "warn",
            lambda root: frameworks(root, ("tensorflow", "2.20.0", []), TORCH_XLA, LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-VERSION",
            "fail",
            lambda root: frameworks(root, ("jaxlib", "0.4.32", []), LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-VERSION",
            "warn",
            lambda root: frameworks(root, ("jax", "0.5.0", []), LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-TORCH-TPU-PIN",
            "fail",
            lambda root: frameworks(root, TORCH_TPU, ("torch", "2.9.0", []), LIBTPU),
        ),
        (
            "HOST-FRAMEWORKS-LIBTPU-PIN",
            "warn",
            lambda root: frameworks(root, TORCH_TPU, ("libtpu", "0.0.21", [])),
        ),
        (
            "HOST-FRAMEWORKS-TORCH-TPU-OTHER",
            "warn",
            lambda root: frameworks(root, ("torch_tpu", "2.1.0", [])),
        ),
        *(
            (
                f"HOST-FRAMEWORKS-{part.upper()}-PIN",
                "warn",
                lambda root, p=part: frameworks(root, *needing(p), LIBTPU),
            )
            for part in ("numpy", "scipy", "ml-dtypes")
        ),
        (
            "HOST-FRAMEWORKS-KERAS-PIN",
            "warn",
            lambda root: frameworks(root, TENSORFLOW_TPU, ("keras", "2.15.0", [])),
        ),
        (
            "HOST-FRAMEWORKS-TENSORFLOW-TWICE",
            "warn",
            lambda root: frameworks(root, TENSORFLOW_TPU, ("tensorflow", "2.21.0", [])),
        ),
        (
            "HOST-FRAMEWORKS-TENSORFLOW-CPU",
            "warn",
            lambda root: frameworks(root, ("tensorflow", "2.21.0", [])),
        ),
        (
            "HOST-FRAMEWORKS-TENSORFLOW-TPU7X",
            "warn",
            lambda root: run(
                "frameworks",
                lay_out(root, "tpu7x"),
                path=installed(root / "site", TENSORFLOW_TPU),
            ),
        ),
        (
            "HOST-FRAMEWORKS-TENSORFLOW-LIBTPU",
            "fail",
            lambda root: frameworks(root, TENSORFLOW_TPU, ("libtpu", "0.0.32", [])),
        ),
        (
            "HOST-FRAMEWORKS-TENSORFLOW-ESTIMATOR",
            "info",
            lambda root: frameworks(root, TENSORFLOW_TPU),
        ),
        (
            "HOST-FRAMEWORKS-TENSORFLOW-COLAB",
            "info",
            lambda root: frameworks(root, JAX, env={"COLAB_RELEASE_TAG": "release-colab"}),
        ),
        ("HOST-FRAMEWORKS-NONE", "info", frameworks),
    ],
    "holder": [
        (
            "HOST-HOLDER-PROCESS",
            "warn",
            lambda root: run("holder", sound(root, holder={"pid": 4242}, lock="live")),
        ),
        ("HOST-HOLDER-LOCK", "warn", lambda root: run("holder", sound(root, lock="live"))),
        ("HOST-HOLDER-LOCK", "fail", lambda root: run("holder", foreign(root))),
        ("HOST-HOLDER-LOCK", "fail", lambda root: run("holder", lock_is_a_folder(root))),
    ],
    "huge_pages": [
        (
            "HOST-HUGE-PAGES",
            "warn",
            lambda root: run("huge_pages", sound(root, thp="always [madvise] never")),
        ),
    ],
    "locked_memory": [
        ("HOST-LOCKED-MEMORY", "warn", lambda root: locking(root, 8 << 20, container="docker")),
        ("HOST-LOCKED-MEMORY", "warn", lambda root: locking(root, 0, container="kubernetes")),
        ("HOST-LOCKED-MEMORY", "info", lambda root: locking(root, 8 << 20)),
    ],
    "metadata": [
        ("HOST-METADATA-ANSWER", "warn", lambda root: run("metadata", sound(root))),
        (
            "HOST-METADATA-CHIPS",
            "fail",
            lambda root: served("metadata", root, values("v5litepod-4")),
        ),
        (
            "HOST-METADATA-PROXY",
            "warn",
            lambda root: served("metadata", root, {}, env={"http_proxy": "http://proxy:3128"}),
        ),
    ],
    "one_host": [
        ("HOST-SLICE-HOSTS", "warn", lambda root: run("one_host", sound(root))),
        (
            "HOST-SLICE-HOSTS",
            "warn",
            lambda root: served("one_host", root, values("v5litepod-32", hosts=1)),
        ),
        (
            "HOST-SLICE-MISFIT",
            "warn",
            lambda root: served("one_host", root, values("v5litepod-32", hosts=1)),
        ),
        (
            "HOST-SLICE-HOSTS",
            "warn",
            lambda root: served("one_host", root, values("v5litepod-32", worker=1, hosts=4)),
        ),
        (
            "HOST-SLICE-WORKER",
            "fail",
            lambda root: served("one_host", root, values("v5litepod-32", worker=4, hosts=4)),
        ),
    ],
    "python": [
        (
            "HOST-PYTHON-VERSION",
            "warn",
            lambda root: python(root, (3, 10, 12), JAX),
        ),
        ("HOST-PYTHON-VERSION", "warn", lambda root: python(root, (3, 11, 9))),
        ("HOST-PYTHON-VERSION", "warn", lambda root: python(root, (3, 10, 12), JAX, TORCH_XLA)),
        ("HOST-PYTHON-TORCH-XLA", "warn", lambda root: python(root, (3, 14, 0), TORCH_XLA)),
        ("HOST-PYTHON-TORCH-TPU", "warn", lambda root: python(root, (3, 10, 12), TORCH_TPU)),
    ],
    "slice_alike": [
        (code, verdict, lambda _, changed=changed: on_hosts("slice_alike", {}, changed, {}))
        for code, verdict, changed in (
            ("SLICE-PYTHON", "fail", {"python_version": "3.11.2"}),
            ("SLICE-JAX", "fail", {"frameworks": {"jax": "0.10.2"}}),
            ("SLICE-LIBTPU", "fail", {"frameworks": {}}),
            ("SLICE-SETTING", "fail", {"settings": {}}),
            ("SLICE-CHIPS", "fail", {"chips": 3}),
            ("SLICE-DEVICES", "fail", {"devices": 3}),
            ("SLICE-TYPE", "fail", {"accelerator_type": "v5litepod-32"}),
            ("SLICE-ORDER", "fail", {"worker": 2}),
            ("SLICE-CLOCK", "warn", {"clock_ahead_s": -180.0}),
        )
    ],
    "slice_arrived": [
        ("SLICE-ARRIVED", "fail", lambda _: on_hosts("slice_arrived", {}, {}, hosts=3)),
        ("SLICE-MISSING", "fail", lambda _: on_hosts("slice_arrived", {}, hosts=2)),
        ("SLICE-TWICE", "fail", lambda _: on_hosts("slice_arrived", {}, {"host": 0})),
        ("SLICE-COUNT", "fail", lambda _: on_hosts("slice_arrived", {}, {"hosts": 8})),
    ],
    "space": [
        ("HOST-SPACE-DISK", "warn", lambda root: run("space", sound(root), usage=usage(3))),
    ],
    "tpu_logs": [
        ("HOST-LOGS-FOLDER", "warn", logs),
        ("HOST-LOGS-FOLDER", "warn", lambda root: logs(root, TPU_LOG_DIR="/home/alice/logs")),
    ],
}
"""Machines on which a check does not pass: the code and verdict expected of it."""
