"""Tests of framework plans: one golden text per row of the table, for a simulated machine.

The machine is files in a folder and JAX is a stub, so these rows show what the program decides and
says. They are not tried on hardware: what a real TPU answers is not shown here.
`pytest --golden` writes the texts anew; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import copies, fake_metadata
from tests.support.machines import lay_out
from tests.support.places import TESTS
from tests.support.processes import HANG_S
from tests.support.sessions import drive
from tests.support.stubs import make_python
from tpustarter.checking.plan import framework_plan
from tpustarter.checking.results.headline import RunSummary, format_closing, format_run_summary
from tpustarter.core import content, locations
from tpustarter.core.problem import ExitCode
from tpustarter.machine import host

GOLDEN = TESTS / "golden"
SAMPLES = TESTS / "samples" / "machine_checks"
WITH_TENSORFLOW = TESTS / "samples" / "machine_checks_tensorflow"
"""Checks of TensorFlow and Keras, for the rows whose Python has TensorFlow."""


@dataclass
class Row:
    """One row of the table: the machine, the Python under test, the arguments, the exit code."""

    exit_code: int
    machine: dict[str, Any] = field(default_factory=dict)
    python: dict[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    metadata: dict[str, str] | None = None


BOUNDS = {1: "1,1,1", 4: "2,2,1", 8: "2,4,1"}
NO_TPU = {"zone": "projects/1/zones/us-central1-b"}
"""Metadata of a machine without a TPU."""
TPU_JAX = {"jax": "0.12.0.1", "libtpu": "0.0.50.1"}


def tpu(generation: str, chips: int, kind: str, count: int, **more: Any) -> Row:
    """Return the row of a TPU VM whose JAX works and whose metadata server answers."""
    machine = {"generation": generation, "chips": chips, **more.pop("machine", {})}
    kinds = {"v5e": f"v5litepod-{chips}", "v6e": f"v6e-{chips}"}
    accelerator_type = kinds.get(generation, f"{generation}-{2 * chips}")
    metadata = fake_metadata.values(accelerator_type, bounds=BOUNDS[chips])
    more = {"metadata": metadata, **more}
    return Row(0, machine, {**TPU_JAX, "kind": kind, "count": count}, **more)


def changed(row: Row, exit_code: int, **machine: Any) -> Row:
    """Return a row with another exit code and further text."""
    return Row(exit_code, {**row.machine, **machine}, row.python, row.arguments, row.metadata)


V6E_8 = tpu("v6e", 8, "TPU v6 lite", 8)
V6E_1 = tpu("v6e", 1, "TPU v6 lite", 1)
V5E_1 = tpu("v5e", 1, "TPU v5 lite", 1)
V5E_8 = tpu("v5e", 8, "TPU v5 lite", 8)
TPU7X_8 = tpu("tpu7x", 4, "TPU7x", 8)
TPU_TENSORFLOW = {
    "tensorflow": "2.20.0",
    "build": "tensorflow-tpu",
    "kind": "TPU v5 lite",
    "count": 8,
}
UNKNOWN = {"google_device": "0x0099", "google": True}
"""A Google device on PCI that may be a TPU of a later generation."""

ROWS: dict[str, Row] = {
    "laptop": Row(0, {}, {"jax": "0.12.0.1"}),
    "laptop-without-framework": Row(5),
    "laptop-with-an-old-jax": Row(5, {}, {"jax": "0.4.35"}),
    "laptop-with-libtpu": Row(0, {}, TPU_JAX),
    "laptop-require-tpu": Row(69, {}, TPU_JAX, ("--require", "tpu")),
    "laptop-static": Row(0, {}, {"jax": "0.12.0.1"}, ("--level", "static")),
    "laptop-devices-1": Row(0, {}, {"jax": "0.12.0.1"}, ("--devices", "1")),
    "laptop-asked-for-chips": Row(
        5, {}, {"jax": "0.12.0.1"}, ("host.chips", "host.device_nodes", "host.one_host")
    ),
    "laptop-globs-without-framework": Row(5, {}, {}, ("jax.*",)),
    "laptop-misspelt-platform": Row(
        1, {"env": {"JAX_PLATFORMS": "tpus"}}, {"jax": "0.12.0.1"}, ("host.*",)
    ),
    "laptop-misspelt-setting": Row(
        1, {"env": {"JAX_DEFAULT_MATMUL_PRECISION": "bogus"}}, {"jax": "0.12.0.1"}, ("host.env*",)
    ),
    "laptop-asked-for-a-tpu": Row(
        0, {"env": {"JAX_PLATFORMS": "tpu"}}, {"jax": "0.12.0.1"}, ("host.env*",)
    ),
    "fresh-v5e-1": Row(5, V5E_1.machine, {}, (), V5E_1.metadata),
    "fresh-v6e-1": Row(5, V6E_1.machine, {}, (), V6E_1.metadata),
    "v5e-1": V5E_1,
    "v6e-8-no-metadata": Row(0, V6E_8.machine, V6E_8.python),
    "v6e-8": V6E_8,
    "v2-8": tpu("v2", 4, "TPU v2", 8),
    "v3-8": tpu("v3", 4, "TPU v3", 8),
    "v4-8": tpu("v4", 4, "TPU v4", 4),
    "v5p-8": tpu("v5p", 4, "TPU v5", 4),
    "tpu7x-8": TPU7X_8,
    "v6e-8-too-few-devices": Row(
        1, V6E_8.machine, {**V6E_8.python, "count": 7}, (), V6E_8.metadata
    ),
    "v6e-8-asked-for-cpu": changed(V6E_8, 0, env={"JAX_PLATFORMS": "cpu"}),
    "v6e-8-virtual-devices": Row(
        0, V6E_8.machine, V6E_8.python, ("--devices", "4"), V6E_8.metadata
    ),
    "v6e-8-one-visible-chip": Row(
        0,
        {**V6E_8.machine, "env": {"TPU_VISIBLE_CHIPS": "0"}},
        {**V6E_8.python, "count": 1},
        (),
        V6E_8.metadata,
    ),
    "v6e-8-with-gvnic": changed(V6E_8, 0, gvnic=True),
    "v6e-8-jax-without-libtpu": Row(1, V6E_8.machine, {"jax": "0.12.0.1"}, (), V6E_8.metadata),
    "v6e-8-held": changed(V6E_8, 75, holder={"pid": 4242, "command": "python train.py"}),
    "v6e-8-locked-by-unknown": changed(V6E_8, 75, lock="live"),
    "v6e-8-stale-lock": changed(V6E_8, 0, lock="stale"),
    "v6e-8-foreign-lock": changed(V6E_8, 1, lock="foreign", uid=1000),
    "v6e-8-denied": changed(V6E_8, 77, uid=1000, denied=True),
    "v5e-16-worker-0": Row(
        3,
        {"generation": "v5e", "chips": 4},
        V5E_8.python,
        (),
        fake_metadata.values("v5litepod-16", worker=0, hosts=4),
    ),
    "v5e-16-this-host": Row(
        0,
        {"generation": "v5e", "chips": 4},
        {**V5E_8.python, "count": 4},
        ("--this-host",),
        fake_metadata.values("v5litepod-16", worker=0, hosts=4),
    ),
    "v4-32-one-endpoint": Row(
        3,
        {"generation": "v4", "chips": 4},
        V5E_8.python,
        (),
        fake_metadata.values("v4-32", hosts=1),
    ),
    "google-cloud-without-tpu": Row(
        0, {"gvnic": True, "google": True}, {"jax": "0.12.0.1"}, metadata=NO_TPU
    ),
    "google-cloud-without-metadata": Row(3, {"gvnic": True, "google": True}, {"jax": "0.12.0.1"}),
    "unknown-google-device": Row(0, UNKNOWN, {"jax": "0.12.0.1"}, metadata=NO_TPU),
    "unknown-google-device-required": Row(
        69, UNKNOWN, {"jax": "0.12.0.1"}, ("--require", "tpu"), metadata=NO_TPU
    ),
    "unknown-google-device-asked-for": Row(
        0,
        {**UNKNOWN, "env": {"JAX_PLATFORMS": "tpu,cpu"}},
        {**TPU_JAX, "kind": "TPU v9", "count": 4},
        ("--require", "tpu"),
        metadata=NO_TPU,
    ),
    "docker-without-nodes": changed(V5E_8, 1, container="docker", nodes=False),
    "docker-without-host-network": changed(V5E_8, 0, container="docker", host_network=False),
    "docker-small-shm": changed(V5E_8, 0, container="docker", shm_gib=0.0625),
    "docker-as-it-should-be": changed(V5E_8, 0, container="docker"),
    "colab-v5e-1": tpu(
        "v5e",
        1,
        "TPU v5 lite",
        1,
        metadata=None,
        machine={
            "container": "docker",
            "env": {
                "COLAB_TPU_1VM": "1",
                "TPU_ACCELERATOR_TYPE": "v5e-1",
                "TPU_WORKER_HOSTNAMES": "localhost",
                "TPU_WORKER_ID": "0",
                "TPU_SKIP_MDS_QUERY": "1",
            },
        },
    ),
    "kaggle-v5e-8": tpu(
        "v5e",
        8,
        "TPU v5 lite",
        8,
        metadata=None,
        machine={
            "container": "docker",
            "env": {
                "KAGGLE_KERNEL_RUN_TYPE": "Interactive",
                "CLOUD_TPU_TASK_ID": "0",
                "PJRT_DEVICE": "TPU",
                "TPU_ACCELERATOR_TYPE": "v5litepod-8",
                "TPU_PROCESS_ADDRESSES": "local",
            },
        },
    ),
    "kaggle-held-by-kernel": Row(
        75,
        {
            "generation": "v5e",
            "chips": 8,
            "container": "docker",
            "env": {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"},
            "holder": {"pid": 4242, "command": "python3 -m ipykernel_launcher -f kernel.json"},
        },
        V5E_8.python,
    ),
    "kaggle-without-tpu": Row(
        0,
        {
            "container": "docker",
            "env": {"KAGGLE_KERNEL_RUN_TYPE": "Interactive", "COLAB_RELEASE_TAG": "release-colab"},
        },
        {"jax": "0.12.0.1"},
    ),
    "gke-v6e-4": tpu(
        "v6e",
        4,
        "TPU v6 lite",
        4,
        metadata=None,
        machine={
            "container": "kubernetes",
            "env": {
                "TPU_WORKER_ID": "0",
                "TPU_WORKER_HOSTNAMES": "localhost",
                "TPU_ACCELERATOR_TYPE": "v6e-4",
            },
        },
    ),
    "laptop-with-torch-xla": Row(0, {}, {"torch_xla": "2.9.0"}),
    "laptop-with-jax-and-torch-xla": Row(0, {}, {"jax": "0.12.0.1", "torch_xla": "2.9.0"}),
    "laptop-with-another-torch": Row(1, {}, {"torch": "2.8.0", "torch_xla": "2.9.0"}),
    "laptop-with-an-old-torch-xla": Row(5, {}, {"torch_xla": "2.6.0"}),
    "laptop-asked-for-torch-xla": Row(5, {}, {"jax": "0.12.0.1"}, ("--framework", "torch_xla")),
    "laptop-another-torch-unseen": Row(
        3, {}, {"torch": "2.8.0", "torch_xla": "2.9.0"}, ("torch_xla.devices_visible",)
    ),
    "laptop-asked-for-a-tpu-by-pjrt": Row(
        1, {"env": {"PJRT_DEVICE": "TPU"}}, {"torch_xla": "2.9.0"}
    ),
    "v6e-8-with-torch-xla": Row(
        0,
        V6E_8.machine,
        {"torch_xla": "2.9.0", "libtpu": "0.0.21", "kind": "TPU v6 lite", "count": 8},
        (),
        V6E_8.metadata,
    ),
    "laptop-with-tensorflow": Row(0, {}, {"tensorflow": "2.20.0", "build": "tensorflow-cpu"}),
    "v5e-8-with-plain-tensorflow": Row(
        1, V5E_8.machine, {"tensorflow": "2.20.0"}, (), V5E_8.metadata
    ),
    "v5e-8-with-tensorflow-tpu": Row(
        0, V5E_8.machine, {**TPU_TENSORFLOW, "libtpu": "0.0.31"}, (), V5E_8.metadata
    ),
    "v5e-8-with-a-libtpu-too-new": Row(
        1, V5E_8.machine, {**TPU_TENSORFLOW, "libtpu": "0.0.52"}, (), V5E_8.metadata
    ),
    "v5e-8-held-from-tensorflow": Row(
        75,
        {**V5E_8.machine, "holder": {"pid": 4242, "command": "python train.py"}},
        {**TPU_TENSORFLOW, "libtpu": "0.0.31"},
        (),
        V5E_8.metadata,
    ),
    "tpu7x-8-with-tensorflow": Row(
        1, TPU7X_8.machine, {"tensorflow": "2.20.0"}, (), TPU7X_8.metadata
    ),
    "gpu-with-torch-xla": Row(
        0,
        {"nvidia": True},
        {"jax": "0.12.0.1", "kind": "NVIDIA H200", "count": 1, "gpu": True, "torch_xla": "2.9.0"},
    ),
    "gpu": Row(
        0, {"nvidia": True}, {"jax": "0.12.0.1", "kind": "NVIDIA H200", "count": 1, "gpu": True}
    ),
    "gpu-without-plugin": Row(0, {"nvidia": True}, {"jax": "0.12.0.1"}),
    "gpu-required": Row(
        0,
        {"nvidia": True},
        {"jax": "0.12.0.1", "kind": "NVIDIA H200", "count": 1},
        ("--require", "gpu"),
    ),
}


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the real host checks and those of the stubs.

    Without host.python: its finding depends on the Python that runs the tests.
    """
    folder = tmp_path_factory.mktemp("checks")
    leave_out = shutil.ignore_patterns("python.py")
    shutil.copytree(locations.content_folder("checks") / "host", folder / "host", ignore=leave_out)
    for framework in ("jax", "torch_xla"):
        shutil.copytree(SAMPLES / framework, folder / framework)
    return folder


@pytest.fixture(scope="module")
def checks_of_tensorflow(checks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same with TensorFlow's and Keras', among them the real one of the build."""
    folder = tmp_path_factory.mktemp("checks") / "all"
    shutil.copytree(checks, folder)
    shutil.copytree(WITH_TENSORFLOW, folder, dirs_exist_ok=True)
    package = locations.content_folder("checks") / "tensorflow" / "package.py"
    shutil.copy(package, folder / "tensorflow")
    return folder


@pytest.fixture
def play(
    tmp_path: Path, checks: Path, checks_of_tensorflow: Path
) -> Iterator[Callable[[Row], tuple[int, str]]]:
    """Return a function that plays a row and returns exit code and text."""
    with ExitStack() as stack:

        def run(row: Row) -> tuple[int, str]:
            machine = _machine(tmp_path / "machine", row, stack)
            python = make_python(tmp_path / "env", **row.python)
            [packages] = python.parents[1].glob("lib/python3*/site-packages")
            (packages / "pip").mkdir()  # so that it is named, and no uv
            arguments = ["check", "--python", "env", *row.arguments]
            env = {**machine.env, "PATH": "/usr/bin:/bin"}
            own = checks_of_tensorflow if "tensorflow" in row.python else checks
            done = copies.run(
                drive(*arguments, checks=own, machine=replace(machine, env=env)),
                cwd=tmp_path,
                env={**os.environ, "NO_COLOR": "1"},
            )
            text = f"{done.stdout}--- stderr\n{done.stderr}--- exit {done.returncode}\n"
            return done.returncode, _plain(text, tmp_path)

        yield run


def _machine(root: Path, row: Row, stack: ExitStack) -> host.Machine:
    settings = dict(row.machine)
    nvidia, denied = settings.pop("nvidia", False), settings.pop("denied", False)
    if row.metadata is not None:
        address = stack.enter_context(fake_metadata.serve(row.metadata))
        patient = {"GCE_METADATA_HOST": address, "GCE_METADATA_TIMEOUT": f"{HANG_S:.0f}"}
        settings["env"] = {**settings.get("env", {}), **patient}
    root.mkdir()
    machine = lay_out(root, settings.pop("generation", None), **settings)
    own = root / "proc/self"
    own.mkdir(parents=True, exist_ok=True)
    (own / "limits").write_text("Max locked memory         unlimited   unlimited   bytes\n")
    if nvidia:
        (root / "dev/nvidia0").write_text("")
    if denied:
        for node in (root / "dev/vfio").iterdir():
            node.chmod(0o600)
    return machine


def _plain(text: str, folder: Path) -> str:
    """Replace everything that differs between two runs: folders, versions, times, ports."""
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"~/\S*/logs/[^/\s]+/", "LOGS/", text)
    text = re.sub(rf"{re.escape(sys.executable)}: jax \S+", "OWN-PYTHON: jax X", text)
    text = re.sub(
        rf"{re.escape(sys.executable)}` tests one that has jax \S+", "OWN-PYTHON` ...", text
    )
    text = re.sub(r"run\s+`FOLDER/env/bin/python\s+-m", "run `FOLDER/env/bin/python -m", text)
    version = ".".join(str(part) for part in sys.version_info[:3])
    text = text.replace(version, "3.X.Y")
    text = re.sub(r"\s+\d+\.\d s$", "", text, flags=re.MULTILINE)
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_each_machine_has_its_text_and_exit_code(
    name: str, play: Callable[[Row], tuple[int, str]], request: pytest.FixtureRequest
) -> None:
    """The report of each simulated machine is exactly its golden text."""
    code, text = play(ROWS[name])
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--golden"):
        golden.write_text(text)

    assert golden.read_text() == text
    assert ROWS[name].exit_code == code


@pytest.mark.parametrize(
    ("installed", "says"),
    [
        ({"jax": "0.4.35", "jaxlib": "0.4.35"}, "jax 0.4.35 in env is too old, 0.6.2 or newer"),
        ({"jax": "0.6.1", "jaxlib": "0.6.1"}, "too old"),
        ({"jax": "0.10.2"}, "has no jaxlib beside it, and cannot be imported"),
        ({"jax": "0.6.2", "jaxlib": "0.6.2"}, None),
        ({"jax": "0.12.0.dev20261101", "jaxlib": "unknown"}, None),
        ({"jax": "unknown", "jaxlib": "unknown"}, None),
    ],
)
def test_unsupported_jax_is_not_started(installed: dict[str, str], says: str | None) -> None:
    """An unsupported JAX isn't started, and the text doesn't advise to get a TPU."""
    blocked = framework_plan.explain_unusable_framework("jax", "env", installed, [], asked=True)

    assert (says is None) == (blocked is None)
    if blocked and says:
        assert says in blocked.what
        assert "[tpu]" not in blocked.hint
        assert ExitCode.NOTHING_VERIFIED == blocked.code


def texts() -> list[Path]:
    """Return the golden texts of machines, without those of rehearsals, plans and jobs."""
    others = ("rehearsal-", "plan-", "bound", "handover-")
    return [path for path in GOLDEN.glob("*.txt") if not path.stem.startswith(others)]


def test_every_golden_text_belongs_to_a_row() -> None:
    """Every golden text belongs to a row."""
    assert set(ROWS) == {path.stem for path in texts()}


ON_TPU = (
    re.escape(
        format_run_summary(RunSummary(passed=2, devices="TPU", on_tpu=True)).removesuffix("TPU.")
    ).replace("2", r"\d+")
    + r"(\d+ devices of )?TPU"
)
"""The headline of a run on TPUs, up to their name."""
NOT_ON_TPU = [format_closing(RunSummary(devices=devices))[1:] for devices in ("", "CPU")]


def test_no_text_claims_absent_tpu() -> None:
    """A text claims a tested TPU only if the row's devices are TPUs."""
    for path in texts():
        text = path.read_text()
        headline = " ".join(text.split("--- stderr")[0].split())
        shown = re.search(ON_TPU, headline)

        assert bool(shown) != any(end in headline for end in NOT_ON_TPU), path.stem
        if shown:
            assert "tpu" in plan_of(ROWS[path.stem]), path.stem


def plan_of(row: Row) -> str:
    """Return the platform a row's accelerator would have."""
    asked_for = "tpu" in row.machine.get("env", {}).get("JAX_PLATFORMS", "") and row.python.get(
        "kind"
    )
    return "tpu" if row.machine.get("generation") or asked_for else "cpu"


def test_the_plan_names_every_variable_it_sets(tmp_path: Path) -> None:
    """The plan contains exactly the variables that the probe changes in the environment."""
    machine = lay_out(tmp_path, "v6e", chips=8)
    made = framework_plan.make_plan(machine)
    env = framework_plan.make_probe_environment(made, machine.env, tmp_path, "jax")
    different = {name for name in env if machine.env.get(name) != env[name]}

    assert different == {*made.env, *framework_plan.run_folder_variables(tmp_path)}
    assert made.env == {"JAX_PLATFORMS": "tpu,cpu"}


def test_device_count_is_removed_from_xla_flags(tmp_path: Path) -> None:
    """The device count is removed from XLA_FLAGS, as JAX refuses it with JAX_NUM_CPU_DEVICES."""
    flags = "--xla_dump_to=/x --xla_force_host_platform_device_count=3"
    machine = lay_out(tmp_path, env={"XLA_FLAGS": flags})

    assert framework_plan.make_plan(machine).env["XLA_FLAGS"] == "--xla_dump_to=/x"


def test_every_real_check_waits_for_same_host_checks() -> None:
    """Every real check waits for the same host checks as the stub's checks."""
    real = {one.id: one.after for one in content.read_checks()}
    for stub in [*content.read_checks(SAMPLES), *content.read_checks(WITH_TENSORFLOW)]:
        assert real.get(stub.id, ()) == stub.after


def test_the_exit_codes_of_the_rows_are_known() -> None:
    """Every exit code of a row is one the program documents."""
    assert {row.exit_code for row in ROWS.values()} <= set(ExitCode)


def test_missing_transformers_is_named_with_its_version() -> None:
    """The missing transformers package is named with a version that torch_xla 2.9 accepts."""
    blocked = framework_plan.explain_missing_packages(
        ["optax", "transformers"], "/nowhere/bin/python"
    )

    assert "optax 'transformers==5.23.*'" in str(blocked.hint)
