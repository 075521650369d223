"""What is known about each framework in this process: its versions, devices and settings.

Nothing here imports a framework before a check of that framework runs.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
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

RUNTIME_VARIABLES = ("TPU_", "GRPC_", "TF_", "LIBTPU_")
"""Variables the runtimes set for themselves while they start."""


def versions() -> dict[str, Any]:
    """Return this Python and what is installed in it, read from metadata: imports no framework."""
    from importlib import metadata

    installed: dict[str, str] = {}
    for name, distribution in DISTRIBUTIONS.items():
        try:
            installed[name] = metadata.version(distribution) or "unknown"
        except metadata.PackageNotFoundError:  # noqa: PERF203  there is no way to ask first
            continue
    return {
        "python": sys.executable,
        "python_version": platform.python_version(),
        "frameworks": installed,
    }


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
