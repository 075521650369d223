"""A Python with a stub of JAX in it: what a TPU VM would answer, without a TPU.

The stub answers as JAX would on the machine that is laid out beside it; it computes nothing.
"""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

JAX = '''"""Stands in for JAX: devices of the platform that JAX_PLATFORMS names."""
import os
from types import SimpleNamespace

__version__ = "{version}"
config = SimpleNamespace(values={{}})


def local_devices():
    platform = os.environ["JAX_PLATFORMS"].split(",")[0]
    if platform == "cpu":
        count, kind = int(os.environ["JAX_NUM_CPU_DEVICES"]), "cpu"
    else:
        count, kind = {count}, "{kind}"
    platform = "gpu" if platform == "cuda" else platform
    return [SimpleNamespace(platform=platform, device_kind=kind, id=i) for i in range(count)]


devices = local_devices
'''


def make_python(
    folder: Path,
    *,
    jax: str | None = None,
    libtpu: str | None = None,
    kind: str = "cpu",
    count: int = 1,
    gpu: bool = False,
) -> Path:
    """Make a virtual environment without pip and return its Python.

    Args:
        folder: Where to make it.
        jax: Version the stub of JAX claims; None for none.
        libtpu: Version of libtpu its metadata claims; None for none.
        kind: `device_kind` of the stub's accelerator devices.
        count: How many of them it shows.
        gpu: Claim JAX's NVIDIA plugin is installed.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = folder / "lib" / version / "site-packages"
    if jax:
        (packages / "jax.py").write_text(JAX.format(version=jax, count=count, kind=kind))
        pin = "" if not libtpu else f"Requires-Dist: libtpu=={libtpu}; extra == 'tpu'\n"
        _claim(packages, "jax", jax, pin)
        _claim(packages, "jaxlib", jax)
    if libtpu:
        _claim(packages, "libtpu", libtpu)
    if gpu:
        _claim(packages, "jax_cuda12_plugin", jax or "0")
    return folder / "bin" / "python"


def _claim(packages: Path, name: str, version: str, more: str = "") -> None:
    folder = packages / f"{name}-{version}.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{more}"
    (folder / "METADATA").write_text(text)


def has_system_python() -> bool:
    """Return whether a `python3` is on the PATH of a laid-out machine."""
    return any(os.access(f"{folder}/python3", os.X_OK) for folder in ("/usr/bin", "/bin"))
