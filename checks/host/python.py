"""The newest JAX supports this Python."""

from __future__ import annotations

import sys

from tpustarter.checks.host import _install
from tpustarter.machine import host
from tpustarter.probe.finding import Finding

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 10
ESTIMATE_S = 0.1
LESSON = "setup/python-and-environments"
SOURCE = "https://docs.jax.dev/en/latest/changelog.html"


def run(
    machine: host.Machine | None = None,  # noqa: ARG001  every host check takes one
    version: tuple[int, ...] = tuple(sys.version_info[:3]),
):
    """Compare the version of the running Python with what JAX asks for."""
    new_enough = version[:2] >= _install.MINIMUM
    yield Finding(
        code="HOST-PYTHON-VERSION",
        name="version of this Python",
        verdict="ok" if new_enough else "warn",
        found=".".join(map(str, version)),
        expected=".".join(map(str, _install.MINIMUM)) + " or newer",
        hint=None if new_enough else f"run `{_install.SET_UP}`",
    )
    yield Finding(
        code="HOST-PYTHON-NEWEST-JAX",
        name="newest JAX it can have",
        found="the newest" if new_enough else _install.NEWEST.get(version[:2], "none"),
    )
