"""The newest frameworks support this Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tpustarter.checks.host import _install, _versions
from tpustarter.machine import frameworks, host
from tpustarter.machine.frameworks import FRAMEWORKS
from tpustarter.probe.finding import Finding, Hint

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "setup/python-and-environments"
SOURCE = "https://docs.jax.dev/en/latest/changelog.html"

OTHERS = {
    frameworks.spell_distribution(name): row for name, row in FRAMEWORKS.items() if row.pythons
} | {name: FRAMEWORKS[framework] for name, framework in frameworks.BUILDS.items()}
"""Distributions with wheels for some Pythons alone, each with its framework."""


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
        row = OTHERS[name]
        pythons = sorted(map(_versions.numbers, row.pythons))
        fits = pythons[0] <= version[:2] <= pythons[-1]
        yield Finding(
            code=f"HOST-PYTHON-{name.upper()}",
            name=f"version of this Python, for {row.release}",
            verdict="ok" if fits else "warn",
            found=found,
            expected=" to ".join(".".join(map(str, pythons[place])) for place in (0, -1)),
            hint=None if fits else Hint.set_up(row.profile),
        )
