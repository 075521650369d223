"""The lanes of the gate: what each of them tries, how it is run by itself, and how long it takes.

The table in CONTRIBUTING is made from this one. Seconds are those of two quiet cores with packages
cached, where nothing else runs. The gate runs them in this order: after what fails soonest the
longest, so that none runs alone at the end. Standard library only, as `.ci/gate.py` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

PYTEST = "python3 -m uv run pytest"


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One part of the gate."""

    name: str
    tries: str
    command: str
    """Runs it by itself."""
    seconds: int
    is_prepared: bool = False
    """Its environment is made before its turn, beside other lanes."""
    is_beside: bool = False
    """It mostly waits, so it runs beside those that compute."""
    unseen: tuple[str, ...] = ()
    """Folders that it neither runs nor imports: a change of nothing else leaves it out."""

    @property
    def minutes(self) -> int:
        """Minutes that it takes, rounded up."""
        return -(-self.seconds // 60)


OTHER_THAN_FRAMEWORKS = (
    ".github/",
    "README.md",
    "LICENSE",
    "checks/jax/",
    "lessons/jax/",
    "lessons/project/",
    "lessons/setup/",
    "lessons/slices/",
    "lessons/start/",
    "lessons/trouble/",
    "tests/benchmarks/",
    "tests/checking/",
    "tests/checks/",
    "tests/cli/",
    "tests/cloud/",
    "tests/compile/",
    "tests/content/",
    "tests/explain/",
    "tests/golden/",
    "tests/hostile/",
    "tests/learning/",
    "tests/lessons/",
    "tests/machine/",
    "tests/numerics/",
    "tests/probe/",
    "tests/rehearsal/",
    "tests/report/",
    "tests/running/",
    "tests/screens/",
    "tests/servers/",
    "tests/serving/",
    "tests/setup/",
    "tests/slices/",
    "tests/tui/",
    "tpustarter/cloud/",
    "tpustarter/serving/",
    "tpustarter/slices/",
    "tpustarter/tui/",
)

LANES = (
    Lane(
        name="lint",
        tries="format, lint and types",
        command="python3 -m uv run --group lint pyright",
        seconds=40,
    ),
    Lane(
        name="wheel",
        tries="what packaging can break: resources, entry points, no checkout around it",
        command=".ci/run wheel",
        seconds=200,
        is_prepared=True,
    ),
    Lane(
        name="content",
        tries="blocks of all lessons, exercises, notebooks, the project's model, real errors",
        command=f"{PYTEST} tests/content",
        seconds=550,
    ),
    Lane(
        name="compile",
        tries="every check compiled for every TPU; files rehearsed; faked TPU VMs with libtpu",
        command=".ci/run compile",
        seconds=510,
        is_prepared=True,
    ),
    Lane(
        name="tensorflow",
        tries="TensorFlow and Keras on CPU devices",
        command=".ci/run tensorflow",
        seconds=370,
        is_prepared=True,
        unseen=(
            *OTHER_THAN_FRAMEWORKS,
            "checks/torch_xla/",
            "checks/torch_tpu/",
            "lessons/pytorch/",
            "tests/torch/",
        ),
    ),
    Lane(
        name="torch",
        tries="PyTorch/XLA and TorchTPU on CPU devices",
        command=".ci/run torch",
        seconds=280,
        is_prepared=True,
        unseen=(
            *OTHER_THAN_FRAMEWORKS,
            "checks/tensorflow/",
            "checks/keras/",
            "lessons/tensorflow/",
            "tests/tensorflow/",
        ),
    ),
    Lane(
        name="hostile",
        tries="streams, signals, kills, limits, terminals, canaries, fuzzing",
        command=f"{PYTEST} tests/hostile",
        seconds=330,
        is_prepared=True,
    ),
    Lane(
        name="python-3.10",
        tries="the probe, the checks and the first day on the oldest JAX",
        command=".ci/run python-3.10",
        seconds=140,
        is_prepared=True,
    ),
    Lane(
        name="python-3.12",
        tries="the same on the newest JAX",
        command=".ci/run python-3.12",
        seconds=150,
        is_prepared=True,
    ),
    Lane(
        name="screens",
        tries="the app in depth: every size, frames, real terminals, one's own code",
        command=f"{PYTEST} tests/screens",
        seconds=90,
        is_prepared=True,
    ),
    Lane(
        name="numerics",
        tries="each fault that a check of arithmetic, speed or links must name, in depth",
        command=f"{PYTEST} tests/numerics",
        seconds=70,
        is_prepared=True,
    ),
    Lane(
        name="servers",
        tries="set-up for real: servers, settings and shared folders",
        command=f"{PYTEST} -n 1 tests/servers",
        seconds=350,
        is_beside=True,
    ),
    Lane(
        name="slices",
        tries="many hosts: faults, and starts over ssh, gcloud, Slurm, MPI and Ray for real",
        command=f"{PYTEST} -n 2 tests/slices",
        seconds=280,
        is_beside=True,
    ),
    Lane(
        name="cloud",
        tries="Google's own client against a server on loopback",
        command=f"{PYTEST} tests/cloud",
        seconds=150,
        is_beside=True,
    ),
    Lane(
        name="suite",
        tries="the command of the README",
        command=PYTEST,
        seconds=230,
    ),
)
