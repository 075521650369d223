"""Compatibility of the installed frameworks, judged by the requirements in their metadata."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.checks.host import _install, _pins, _versions
from tpustarter.machine import frameworks
from tpustarter.probe.finding import Finding, Hint

YANKED = ("0.4.32",)
"""Versions of jax and jaxlib that corrupt data on several slices. Source: JAX changelog, 0.4.33."""

Packages = dict[str, _versions.Package]


def versions(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Yield every version; a withdrawn one fails, and an unsupported JAX is a warning."""
    for name, package in packages.items():
        if name in _pins.PARTS:
            continue
        code, verdict, expected, hint = "HOST-FRAMEWORKS-VERSION", "info", None, None
        if name in ("jax", "jaxlib") and package.version in YANKED:
            verdict, expected = "fail", "0.4.33 or newer"
        elif frameworks.is_too_old(name, package.version):
            verdict, expected = "warn", f"{frameworks.FRAMEWORKS[name].oldest} or newer"
        if expected:
            hint = (
                _install.into_this_python("-U", "jax[tpu]" if tpu else "jax")
                if name in ("jax", "jaxlib")
                else Hint.set_up(frameworks.FRAMEWORKS[name].profile)
            )
        yield Finding(code, name, verdict, package.version, expected, hint=hint)


def jaxlib_present(packages: Packages, *, elsewhere: bool) -> Iterator[Finding]:
    """Yield a finding if JAX lacks jaxlib, without which it cannot be imported.

    Args:
        packages: The installed packages.
        elsewhere: True if a jaxlib without package metadata can be imported.
    """
    if "jax" in packages and "jaxlib" not in packages and not elsewhere:
        jax = packages["jax"]
        specifier = _versions.specifier_for(jax, "jaxlib")
        requirement = f"jaxlib{specifier}" if specifier else f"jaxlib=={jax.version}"
        yield Finding(
            code="HOST-FRAMEWORKS-JAXLIB",
            name="jax has no jaxlib here and cannot be imported",
            verdict="fail",
            found="no jaxlib",
            expected=requirement.replace("jaxlib", "jaxlib ", 1),
            entity="package:jax",
            hint=_install.into_this_python(requirement),
        )


def libtpu_present(packages: Packages, *, elsewhere: bool) -> Iterator[Finding]:
    """Yield, for a machine with a TPU, the frameworks that lack libtpu.

    Args:
        packages: The installed packages.
        elsewhere: True if TPU_LIBRARY_PATH names a library outside this Python.
    """
    for name in ("jax", "torch-xla"):
        if name in packages and "libtpu" not in packages and not elsewhere:
            requirement = f"{name.replace('-', '_')}[tpu]=={packages[name].version}"
            specifier = _versions.specifier_for(packages[name], "libtpu", _pins.TPU_EXTRAS[name])
            yield Finding(
                code="HOST-FRAMEWORKS-LIBTPU",
                name=f"{name} has no libtpu here and cannot reach the TPU",
                verdict="fail",
                found="no libtpu",
                expected=f"libtpu {specifier}" if specifier else "libtpu",
                entity=f"package:{name}",
                hint=_install.into_this_python(requirement),
            )


def clashes(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Judge distributions that overwrite or block each other."""
    if "libtpu" in packages and "libtpu-nightly" in packages:
        yield Finding(
            code="HOST-FRAMEWORKS-NIGHTLY",
            name="libtpu-nightly overwrites files of libtpu",
            verdict="fail" if tpu else "warn",
            found=f"libtpu-nightly {packages['libtpu-nightly'].version}",
            expected="libtpu alone",
            hint="make a new environment, because removing either one breaks the other",
        )
