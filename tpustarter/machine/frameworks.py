"""What is known about each framework in this process: its versions, devices and settings.

Nothing here imports a framework before a check of that framework runs.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

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
}
"""What is named in a report, and the distribution whose metadata holds its version."""

OLDEST = {"jax": "0.6.2"}
"""The oldest version that checks and lessons are written for: what Python 3.10 gets."""

RUNTIME_VARIABLES = ("TPU_", "GRPC_", "TF_", "LIBTPU_")
"""Variables the runtimes set for themselves while they start."""

SETTINGS = {
    "jax": ("JAX_*", "JAX2TF_*", "CHECK_VMA", "EAGER_CONSTANT_FOLDING", "XLA_FLAGS",
            "LIBTPU_INIT_ARGS"),
}  # fmt: skip
"""Variables that change what a framework does, as patterns of names."""

PLACES = (
    "JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_NUM_CPU_DEVICES", "JAX_*_VISIBLE_DEVICES",
    "JAX_COORDINATOR_*", "JAX_PROCESS_*", "JAX_NUM_PROCESSES", "JAX_LOCAL_*", "JAX_MTLS_*",
    "JAX_COMPILATION_CACHE_DIR",
)  # fmt: skip
"""Those of them that say which devices, hosts and folders there are: no results depend on them."""

_DEVICE_COUNT = re.compile(r"--xla_force_host_platform_device_count=\S*")


def settings_in(framework: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the variables of an environment that change what a framework does."""
    names = {
        name for pattern in SETTINGS.get(framework, ()) for name in fnmatch.filter(env, pattern)
    }
    names -= {name for pattern in PLACES for name in fnmatch.filter(names, pattern)}
    return tuple(sorted(name for name in names if _DEVICE_COUNT.sub("", env[name]).strip()))


def without_settings(env: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """Return an environment without settings, but with the number of CPU devices XLA was told."""
    plain = {name: value for name, value in env.items() if name not in names}
    count = _DEVICE_COUNT.search(env.get("XLA_FLAGS", ""))
    return {**plain, "XLA_FLAGS": count[0]} if count else plain


def versions() -> dict[str, Any]:
    """Return this Python and what is installed in it, read from metadata: imports no framework."""
    from importlib import metadata

    installed: dict[str, str] = {}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            installed[name] = metadata.version(distribution) or "unknown"
        except metadata.PackageNotFoundError:  # noqa: PERF203  there is no way to ask first
            if name == "jaxlib" and importlib.util.find_spec(name):
                installed[name] = "unknown"  # built from its sources, and found by PYTHONPATH
    return {
        "python": sys.executable,
        "python_version": platform.python_version(),
        "frameworks": installed,
    }


def is_too_old(name: str, version: str, oldest: str = "") -> bool:
    """Return whether a version is older than one, else than the oldest supported one.

    What is no version is not: nothing can be said of it.
    """
    match = re.match(r"\d+(\.\d+)*", version)
    oldest = oldest or OLDEST.get(name, "0")
    return match is not None and _numbers(match[0]) < _numbers(oldest)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def settings(framework: str) -> dict[str, Any]:
    """Return what a check must leave as it found it; imports the framework."""
    values: dict[str, Any] = {}
    if framework == "jax":
        jax: Any = importlib.import_module("jax")
        values.update(jax.config.values)
    elif framework != "host":
        importlib.import_module(framework)
    for name, value in os.environ.items():
        if not name.startswith(RUNTIME_VARIABLES):
            values[f"${name}"] = hash(value)  # compared, never shown: it may be a secret
    values["working directory"] = os.getcwd()  # noqa: PTH109
    return values


def ran_on(framework: str, *, virtual: bool) -> dict[str, Any] | None:
    """Return platform, kind and count of the devices a check could use; null for the host."""
    if framework != "jax":
        return None
    jax: Any = importlib.import_module("jax")
    devices = jax.local_devices()
    return {
        "platform": devices[0].platform,
        "kind": devices[0].device_kind,
        "count": len(devices),
        "virtual": virtual and devices[0].platform == "cpu",
    }


def is_initialised(framework: str) -> bool:
    """Return whether this process has started the framework's devices; starts nothing itself."""
    # JAX has no public way to ask that does not start the devices.
    bridge: Any = sys.modules.get("jax._src.xla_bridge") if framework == "jax" else None
    return bool(getattr(bridge, "_backends", None))
