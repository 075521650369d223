"""Facts about each framework, without importing it: versions, settings, platforms."""

from __future__ import annotations

import fnmatch
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict

from tpustarter.machine import installed_distributions

DISTRIBUTIONS = {
    "jax": "jax",
    "jaxlib": "jaxlib",
    "libtpu": "libtpu",
    "libtpu-nightly": "libtpu-nightly",
    "numpy": "numpy",
    "torch": "torch",
    "torch_xla": "torch_xla",
    "torch_tpu": "torch_tpu",
    "tensorflow": "tensorflow",
    "tensorflow-tpu": "tensorflow-tpu",
    "tensorflow-cpu": "tensorflow-cpu",
    "keras": "keras",
}
"""Names used in a report, each with the distribution whose metadata has its version."""

LOWERERS = ("torch_xla", "torchax")
"""Libraries that lower a PyTorch module for a TPU; the first that is installed is used."""

BUILDS = {"tensorflow-tpu": "tensorflow", "tensorflow-cpu": "tensorflow"}
"""Distributions that are builds of a framework, with the framework that they contain."""


class Framework(NamedTuple):
    """Facts about a framework that are needed before it is imported."""

    title: str
    """The name used in its own documentation."""
    starts_in: str
    """Time until its CPU devices are ready, as text."""
    profile: str
    """The `tpustarter setup` profile that makes an environment with it."""
    wheel: str
    tpu_wheel: str
    """Packages that the profile installs: `wheel` without a TPU, `tpu_wheel` with one."""
    oldest: str
    """The oldest version that checks and lessons support."""
    settings: tuple[str, ...]
    """Glob patterns for variables that change its behaviour."""
    platforms: Mapping[str, Mapping[str, str]]
    """Variables that select a platform, by platform; the user's own values take precedence."""
    counts: tuple[str, ...] = ()
    """Variables that set the number of CPU devices."""
    pythons: tuple[str, ...] = ()
    """Python versions from 3.10 on with wheels of the version that set-up installs, the preferred
    one first; empty if set-up installs the newest version on the newest JAX."""
    on_cpu: bool = True
    """True if it can also compute without an accelerator."""
    log_words: str = ""
    """Regular expression for text that only this framework logs; empty if none is known."""
    required_frameworks: tuple[str, ...] = ()
    """Frameworks that it computes with, which must be installed too."""
    quiet_variables: Mapping[str, str] = {}
    """Variables that keep its log out of a lesson's output; the user's own take precedence."""
    verbose_assignments: str = ""
    """Assignments that make its errors more detailed; empty if none are known.

    Sources: docs.jax.dev/en/latest/config_options.html, docs.pytorch.org/xla/master (its page on
    troubleshooting), docs.pytorch.org/docs/stable/debugging_environment_variables.html (read
    2026-11).
    """

    @property
    def release(self) -> str:
        """Its title, and the version that set-up installs where it is not the newest."""
        _, _, version = self.tpu_wheel.split()[0].partition("==")
        return f"{self.title} {version}".rstrip()

    @property
    def tpu_package(self) -> tuple[str, str | None]:
        """The distribution that loads libtpu, and the extra in which it names its versions."""
        name, _, extra = self.tpu_wheel.split()[0].partition("==")[0].partition("[")
        return spell_distribution(name), extra.rstrip("]") or None


FRAMEWORKS = {
    "jax": Framework(
        title="JAX",
        starts_in="1 to 3 s",
        profile="jax",
        wheel="jax",
        tpu_wheel="jax[tpu]",
        oldest="0.6.2",  # the version for Python 3.10
        settings=(
            "JAX_*",
            "JAX2TF_*",
            "CHECK_VMA",
            "EAGER_CONSTANT_FOLDING",
            "XLA_FLAGS",
            "LIBTPU_INIT_ARGS",
        ),
        # Callbacks run on the cpu backend, so a plain `tpu` breaks them.
        platforms={
            "tpu": {"JAX_PLATFORMS": "tpu,cpu"},
            "gpu": {"JAX_PLATFORMS": "cuda,cpu"},
            "cpu": {"JAX_PLATFORMS": "cpu"},
        },
        counts=("JAX_NUM_CPU_DEVICES",),
        verbose_assignments="JAX_TRACEBACK_FILTERING=off",
    ),
    "torch_xla": Framework(
        title="PyTorch/XLA",
        starts_in="5 to 15 s",
        log_words=r"torch_xla|_XLAC|XLATensor|PT_XLA|Bad StatusOr access|device=TPU:\d",
        profile="pytorch-xla",
        wheel="torch_xla==2.9.0",
        tpu_wheel="torch_xla[tpu]==2.9.0",
        oldest="2.9",  # the last release, used for all measurements
        # Source: the names of its wheels, as of those below (read 2026-11).
        pythons=("3.12", "3.11", "3.13", "3.10"),
        settings=("XLA_*", "PT_XLA_*", "PTXLA_*", "XRT_*", "LIBTPU_INIT_ARGS"),
        platforms={"tpu": {"PJRT_DEVICE": "TPU"}, "cpu": {"PJRT_DEVICE": "CPU"}},
        # An all-reduce under `launch` needs a thread per CPU device, or it hangs.
        counts=("CPU_NUM_DEVICES", "XLA_THREAD_POOL_SIZE"),
        verbose_assignments="PT_XLA_DEBUG_LEVEL=2 TORCH_SHOW_CPP_STACKTRACES=1",
    ),
    "torch_tpu": Framework(
        title="TorchTPU",
        starts_in="5 to 15 s",
        profile="torchtpu",
        wheel="torch_tpu==0.2.0",
        tpu_wheel="torch_tpu==0.2.0",
        oldest="0.2",
        pythons=("3.12", "3.13", "3.14", "3.11"),
        settings=("TORCH_TPU_*", "TORCHTPU_*", "XLA_FLAGS", "LIBTPU_INIT_ARGS"),
        platforms={"tpu": {}, "cpu": {}},
        on_cpu=False,
    ),
    "tensorflow": Framework(
        title="TensorFlow",
        starts_in="5 to 10 s",
        log_words=r"TPUStrategy|TPUClusterResolver|/replica:\d+/task|\{\{node",
        profile="tensorflow",
        wheel="tensorflow-cpu==2.20.0",
        # With a newer libtpu, which its own version limits allow, its import ends the process.
        tpu_wheel="tensorflow-tpu==2.20.0 libtpu==0.0.31",
        oldest="2.16",  # the first with Keras 3
        pythons=("3.12", "3.11", "3.13", "3.10"),
        # Not all of TF_*, which is Terraform's prefix too.
        settings=(
            "TF_XLA_FLAGS",
            "TF_ENABLE_*",
            "TF_DISABLE_*",
            "TF_DETERMINISTIC_OPS",
            "TF_OVERRIDE_*",
            "TF_USE_LEGACY_KERAS",
            "KERAS_*",
            "XLA_FLAGS",
            "LIBTPU_INIT_ARGS",
        ),
        # The number of its CPU devices is set by code in the adapter.
        platforms={name: {"KERAS_BACKEND": "tensorflow"} for name in ("tpu", "cpu")},
        # Errors are still shown. At the information level each epoch would log a dozen lines.
        quiet_variables={"TF_CPP_MIN_LOG_LEVEL": "2"},
        verbose_assignments="TF_CPP_MIN_LOG_LEVEL=0",
    ),
    "keras": Framework(
        title="Keras",
        starts_in="3 to 8 s",
        profile="keras",
        wheel="keras jax",
        tpu_wheel="keras jax[tpu]",
        oldest="3.10",
        settings=("KERAS_*", "JAX_*", "XLA_FLAGS", "LIBTPU_INIT_ARGS"),
        platforms={
            "tpu": {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "tpu,cpu"},
            "gpu": {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cuda,cpu"},
            "cpu": {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        },
        counts=("JAX_NUM_CPU_DEVICES",),
        required_frameworks=("jax",),
    ),
}
"""Frameworks by import name, in the order in which their checks run."""

RUNTIME_VARIABLES = (
    "TPU_",
    "GRPC_",
    "TF_",
    "LIBTPU_",
    "PJRT_",
    "TF2_BEHAVIOR",
    "ENABLE_RUNTIME_UPTIME_TELEMETRY",
)
"""Prefixes of variables that the runtimes set while they start. The last two are set by importing
TensorFlow, which Keras does when it saves a model.
"""

PLACES = (
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
    "JAX_NUM_CPU_DEVICES",
    "JAX_*_VISIBLE_DEVICES",
    "JAX_COORDINATOR_*",
    "JAX_PROCESS_*",
    "JAX_NUM_PROCESSES",
    "JAX_LOCAL_*",
    "JAX_MTLS_*",
    "JAX_COMPILATION_CACHE_DIR",
    "XLA_THREAD_POOL_SIZE",
    "XLA_PERSISTENT_CACHE_PATH",
    "KERAS_BACKEND",
    "KERAS_HOME",
)
"""Variables that name devices, hosts or folders, and do not change results."""

_DEVICE_COUNT = re.compile(r"--xla_force_host_platform_device_count=\S*")


def spell_distribution(name: str) -> str:
    """Return the name of a distribution, as the metadata of others spell it."""
    return name.replace("_", "-")


def list_behaviour_variables(framework: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the set variables that change a framework's behaviour.

    Variables that only select a platform, a device or a folder are left out.
    """
    names = {
        name
        for pattern in (FRAMEWORKS[framework].settings if framework in FRAMEWORKS else ())
        for name in fnmatch.filter(env, pattern)
    }
    names -= {name for pattern in PLACES for name in fnmatch.filter(names, pattern)}
    return tuple(sorted(name for name in names if _DEVICE_COUNT.sub("", env[name]).strip()))


def remove_behaviour_variables(env: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Return an environment without these variables, but with XLA's number of CPU devices."""
    plain = {name: value for name, value in env.items() if name not in names}
    count = _DEVICE_COUNT.search(env.get("XLA_FLAGS", ""))
    return {**plain, "XLA_FLAGS": count[0]} if count else plain


def platform_variables(
    framework: str, platform: str, devices: int | None, env: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that select a framework's platform and its number of CPU devices.

    A platform named by the user's own environment is kept.
    """
    if framework not in FRAMEWORKS:
        return {}
    row = FRAMEWORKS[framework]
    chosen = {
        name: env.get(name, "").strip() or value
        for name, value in row.platforms.get(platform, {}).items()
    }
    counted = row.counts if platform == "cpu" and devices else ()
    return {**chosen, **{name: str(devices) for name in counted}}


def can_run_on_cpu(framework: str) -> bool:
    """Return whether a framework can compute without an accelerator."""
    return framework not in FRAMEWORKS or FRAMEWORKS[framework].on_cpu


def list_missing_frameworks(framework: str, installed: Iterable[str]) -> list[str]:
    """Return the frameworks that another one needs but that are not installed."""
    required = FRAMEWORKS[framework].required_frameworks if framework in FRAMEWORKS else ()
    return [name for name in required if name not in installed]


class InstalledVersions(TypedDict):
    """A Python's version and those of its packages, which are keyed as in `DISTRIBUTIONS`."""

    python: str
    python_version: str
    frameworks: dict[str, str]


def read_versions() -> InstalledVersions:
    """Return the versions of this Python and its packages, without importing a framework."""
    said = installed_distributions.find_installed_distributions(DISTRIBUTIONS.values())
    installed: dict[str, str] = {}
    for name, distribution in DISTRIBUTIONS.items():
        if said[distribution]:
            installed[name] = said[distribution][0].version or "unknown"
        elif name == "jaxlib" and importlib.util.find_spec(name):
            installed[name] = "unknown"  # built from source and found through PYTHONPATH
    for build, framework in BUILDS.items():
        if build in installed:
            installed.setdefault(framework, installed[build])
    return {
        "python": sys.executable,
        "python_version": sys.version.split()[0],
        "frameworks": installed,
    }


def is_too_old(name: str, version: str, oldest: str = "") -> bool:
    """Return whether a version is older than `oldest`, or than the oldest supported one.

    Text that is not a version counts as supported, because nothing is known about it.
    """
    match = re.match(r"\d+(\.\d+)*", version)
    oldest = oldest or (FRAMEWORKS[name].oldest if name in FRAMEWORKS else "0")
    return match is not None and parse_version(match[0]) < parse_version(oldest)


def parse_version(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to compare it with others; none for ""."""
    return tuple(int(part) for part in version.split(".") if part)
