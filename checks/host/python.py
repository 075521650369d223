"""The newest frameworks support this Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tpustarter.checks.host import _install, _versions
from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "setup/python-and-environments"
SOURCE = "https://docs.jax.dev/en/latest/changelog.html"

OTHERS = {"torch-xla": ("PyTorch/XLA 2.9.0", (3, 10), (3, 13), "pytorch-xla"),
          "torch-tpu": ("TorchTPU 0.2.0", (3, 12), (3, 14), "torchtpu"),
          "tensorflow": ("TensorFlow 2.20.0", (3, 9), (3, 13), "tensorflow"),
          "tensorflow-cpu": ("TensorFlow 2.20.0", (3, 9), (3, 13), "tensorflow"),
          "tensorflow-tpu": ("TensorFlow 2.20.0", (3, 9), (3, 13), "tensorflow")}  # fmt: skip
"""Oldest and newest Python of a library's last release, as the names of its wheels say, and the
profile of set-up that finds one. Source: github.com/pytorch/xla and github.com/google-pytorch/
torch_tpu, releases, and the package index for tensorflow (read 2026-11)."""


def run(
    machine: host.Machine | None = None,  # noqa: ARG001  every host check takes one
    version: tuple[int, ...] = tuple(sys.version_info[:3]),
    path: Sequence[str] | None = None,
):
    """Compare the version of this Python with what each library requires, or JAX if none."""
    packages = _versions.installed(path)
    found = ".".join(map(str, version))
    others = [name for name in OTHERS if name in packages]
    if "jax" in packages or not others:
        new_enough = version[:2] >= _install.MINIMUM
        older = _install.NEWEST.get(version[:2], "none")
        yield Finding(
            code="HOST-PYTHON-VERSION",
            name="version of this Python",
            verdict="ok" if new_enough else "warn",
            found=found,
            expected=".".join(map(str, _install.MINIMUM)) + " or newer",
            hint=None if new_enough else Hint.set_up(_install.SET_UP, " for the newest JAX"),
        )
        yield Finding(
            code="HOST-PYTHON-NEWEST-JAX",
            name="newest JAX that supports it",
            found="the newest" if new_enough else older,
        )
    for name in others:
        title, oldest, newest, profile = OTHERS[name]
        fits = oldest <= version[:2] <= newest
        yield Finding(
            code=f"HOST-PYTHON-{name.upper()}",
            name=f"version of this Python, for {title}",
            verdict="ok" if fits else "warn",
            found=found,
            expected=f"{oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}",
            hint=None if fits else Hint.set_up(profile),
        )
