"""Python, torch and libtpu are what torch_tpu was made for."""

import platform
from importlib import metadata

from tpustarter.checks.torch_tpu import _wheel
from tpustarter.probe.finding import Finding

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 0.1
LESSON = "setup/install-torchtpu"
SOURCE = "https://github.com/google-pytorch/torch_tpu"
AFTER = ["torch_tpu.googles_package"]

AGAIN = "`tpustarter setup torchtpu` makes an environment where they fit"


def installed(name):
    """Return the version of an installed distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def judge(name, version, limits):
    """Return whether a version lies within the limits that the wheel itself states."""
    fits = version is not None and _wheel.lies_within(version, limits)
    return Finding(
        code=f"TTPU-VERSIONS-{name.upper()}",
        name=f"{name}, as torch_tpu asks for it",
        verdict="ok" if fits else "fail",
        found=version or "not installed",
        expected=limits,
        hint=None if fits else AGAIN,
    )


def run(package=None):
    """Compare what is installed with the requirements in torch_tpu's own metadata."""
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
        hint="each needs a torch and a libtpu of its own: make one environment for each of them"
        if other
        else None,
    )
