"""Python, torch and libtpu have versions that fit torch_tpu."""

import platform
from importlib import metadata

from tpustarter.checks.torch_tpu import _wheel
from tpustarter.probe.finding import Finding, Hint

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 0.1
LESSON = "setup/install-torchtpu"
SOURCE = "https://github.com/google-pytorch/torch_tpu"
AFTER = ["torch_tpu.googles_package"]

AGAIN = Hint.set_up("torchtpu", " for an environment where they fit")


def installed(name):
    """Return the version of an installed distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def judge(name, version, limits):
    """Return a finding that fails if a version is outside the limits in the wheel's metadata."""
    fits = version is not None and _wheel.lies_within(version, limits)
    return Finding(
        code=f"TTPU-VERSIONS-{name.upper()}",
        name=f"{name} that torch_tpu requires",
        verdict="ok" if fits else "fail",
        found=version or "not installed",
        expected=limits,
        hint=None if fits else AGAIN,
    )


def run(package=None):
    """Compare the installed versions with the requirements in torch_tpu's own metadata."""
    package = package or metadata.distribution("torch_tpu")
    python = package.metadata.get("Requires-Python") or ">=3.11"
    yield judge("Python", platform.python_version(), python)
    for name in ("torch", "libtpu"):
        limits = _wheel.requirement(package, name)
        if limits:
            yield judge(name, installed(name), limits)
    other = installed("torch_xla")
    yield Finding(
        code="TTPU-VERSIONS-ALONE",
        name="torch_xla beside torch_tpu",
        verdict="warn" if other else "ok",
        found=other or "none",
        expected="none",
        hint="make an environment for each, because each needs its own torch and libtpu"
        if other
        else None,
    )
