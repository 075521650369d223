"""Python is new enough for the newest JAX."""

from __future__ import annotations

import sys

from tpustarter import host
from tpustarter.checks.host import _install
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 10
LESSON = "setup/python-and-environments"
SOURCE = "https://docs.jax.dev/en/latest/changelog.html"


def run(
    machine: host.Machine | None = None, version: tuple[int, ...] = tuple(sys.version_info[:3])
):
    """Compare the version of the running Python with what JAX asks for."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    new_enough = version[:2] >= _install.MINIMUM
    yield Finding(
        code="HOST-PYTHON-VERSION",
        name="version of this Python",
        verdict="ok" if new_enough else "warn",
        found=".".join(map(str, version)),
        expected=".".join(map(str, _install.MINIMUM)) + " or newer",
        hint=None if new_enough else _install.environment_hint(machine),
    )
    yield Finding(
        code="HOST-PYTHON-NEWEST-JAX",
        name="newest JAX it can have",
        found="the newest" if new_enough else _install.NEWEST.get(version[:2], "none"),
    )
