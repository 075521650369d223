"""The lanes of the gate, each with its subject, its command and its duration.

The table in CONTRIBUTING is generated from this one. Seconds are measured on two idle cores with
packages cached. The gate runs the lanes in this order: first those that fail soonest, then the
longest, so that none runs alone at the end. Standard library only, because `.ci/gate.py` reads it.
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
    """The command that runs only this lane."""
    seconds: int
    is_prepared: bool = False
    """True if its environment is created before its turn, while other lanes run."""
    is_beside: bool = False
    """True if it mostly waits, so that it runs in parallel with lanes that compute."""
    unseen: tuple[str, ...] = ()
    """Folders that it neither runs nor imports; it is skipped if only these have changed."""

    @property
    def minutes(self) -> int:
        """Return its duration in minutes, rounded up."""
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
    "tests/rules/",
    "tests/running/",
    "tests/screens/",
    "tests/servers/",
    "tests/serving/",
    "tests/setup/",
    "tests/slices/",
    "tests/tui/",
    "tests/wheel/",
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
        name="rules",
        tries="how the code is layered, cut and named, and that this gate runs everything",
        command=f"{PYTEST} tests/rules",
        seconds=25,
    ),
    Lane(
        name="wheel",
        tries="what packaging can break: resources, no checkout around it, sdist, uvx; real shells",
        command=".ci/run wheel",
        seconds=60,
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
        is_prepared=True,
        is_beside=True,
    ),
    Lane(
        name="slices",
        tries="many hosts: faults, and starts over ssh, gcloud, Slurm, MPI and Ray for real",
        command=f"{PYTEST} -n 2 tests/slices",
        seconds=280,
        is_prepared=True,
        is_beside=True,
    ),
    Lane(
        name="cloud",
        tries="Google's own client against a server on loopback",
        command=f"{PYTEST} tests/cloud",
        seconds=150,
        is_prepared=True,
        is_beside=True,
    ),
    Lane(
        name="suite",
        tries="the command of the README",
        command=PYTEST,
        seconds=270,
    ),
)
