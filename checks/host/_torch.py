"""Compatibility of PyTorch's packages, each built for specific versions of the others."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.checks.host import _install, _pins, _versions
from tpustarter.probe.finding import Finding, Hint

TPU7X_LIBTPU = (0, 0, 42, 1)
"""The first libtpu that finds TPU7x as a device; 0.0.21 does not even have its name, and reports
`Invalid TPU external name: TPU7x` for its topology.
Source: https://github.com/AI-Hypercomputer/maxdiffusion/pull/471 (read 2026-11)."""

SETUPS = {"jax": "jax", "torch-xla": "pytorch-xla", "torch-tpu": "torchtpu"}
"""The set-up profile of each framework that loads libtpu."""

Packages = dict[str, _versions.Package]


def findings(packages: Packages, *, tpu: bool, generation: str | None) -> Iterator[Finding]:
    """Judge torch, torch_xla, torch_tpu, and the libtpu that they share with others."""
    yield from _release(packages, tpu=tpu)
    yield from _other_publisher(packages, tpu=tpu)
    yield from _both(packages)
    yield from _alone(packages, tpu=tpu)
    yield from _shared_libtpu(packages, tpu=tpu)
    if generation == "tpu7x":
        yield from _too_new_chip(packages)


def _release(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    if "torch" not in packages or "torch-xla" not in packages:
        return
    torch, xla = (packages[name].version for name in ("torch", "torch-xla"))
    fits = _versions.numbers(torch)[:2] == _versions.numbers(xla)[:2]
    release = ".".join(map(str, _versions.numbers(xla)))
    requirements = (f"torch=={release}", f"torch_xla{'[tpu]' * tpu}=={release}")
    hint = _install.into_this_python(*requirements)
    yield Finding(
        code="HOST-FRAMEWORKS-TORCH-PIN",
        name=f"version of torch that torch_xla {xla} needs",
        verdict="ok" if fits else "fail",
        found=torch,
        expected=".".join(release.split(".")[:2]) + ".*",
        hint=None if fits else _apart(packages) if "torch-tpu" in packages else hint,
    )


def _other_publisher(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    if "torch-tpu" in packages and _versions.specifier_for(packages["torch-tpu"], "libtpu") is None:
        yield Finding(
            code="HOST-FRAMEWORKS-TORCH-TPU-OTHER",
            name="this torch_tpu may be another company's package",
            verdict="warn" if tpu else "info",
            found=f"{packages['torch-tpu'].version}, which does not require libtpu",
            expected="the package of Google, which requires libtpu",
            hint=_install.into_this_python("-U", "torch_tpu"),
        )


def _both(packages: Packages) -> Iterator[Finding]:
    if {"torch-xla", "torch-tpu"} <= packages.keys():
        yield Finding(
            code="HOST-FRAMEWORKS-TORCH-TWICE",
            name="torch_xla and torch_tpu need different versions of torch",
            verdict="fail",
            found=f"torch {packages['torch'].version}" if "torch" in packages else "no torch",
            expected="torch_xla and torch_tpu in separate environments",
            hint=_apart(packages),
        )


def _alone(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Warn that torch alone uses the CPU; together with JAX, it often only loads the data."""
    if tpu and "torch" in packages and not packages.keys() & set(_pins.TPU_EXTRAS):
        yield Finding(
            code="HOST-FRAMEWORKS-TORCH-ALONE",
            name="torch has neither torch_tpu nor torch_xla, and uses the CPU",
            verdict="warn",
            found=f"torch {packages['torch'].version}",
            expected="torch_tpu or torch_xla beside it",
            hint=Hint.set_up("torchtpu", " or `tpustarter setup pytorch-xla`"),
        )


def _shared_libtpu(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Yield a finding if several frameworks share a libtpu that does not fit them all."""
    sharing = [name for name in _pins.TPU_EXTRAS if name in packages]
    if len(sharing) < 2 or "libtpu" not in packages:
        return
    version = packages["libtpu"].version
    limits = {
        name: _versions.specifier_for(packages[name], "libtpu", _pins.TPU_EXTRAS[name])
        for name in sharing
    }
    fitting = [name for name, limit in limits.items() if limit and _versions.allows(limit, version)]
    if len(fitting) < len(sharing):
        yield Finding(
            code="HOST-FRAMEWORKS-LIBTPU-SHARED",
            name=f"the one libtpu that {' and '.join(sharing)} share",
            verdict="warn" if tpu else "info",
            found=f"{version}, accepted by {' and '.join(fitting) or 'none of them'}",
            expected="a version that all of them accept",
            hint=_apart(packages),
        )


def _too_new_chip(packages: Packages) -> Iterator[Finding]:
    if "torch-xla" not in packages:
        return
    limit = _versions.specifier_for(packages["torch-xla"], "libtpu", "tpu")
    pinned = _versions.numbers((limit or "").lstrip("=~"))
    if limit and pinned < TPU7X_LIBTPU:
        yield Finding(
            code="HOST-FRAMEWORKS-TORCH-XLA-TPU7X",
            name=f"libtpu that torch_xla {packages['torch-xla'].version} requires, on TPU7x",
            verdict="warn",
            found=limit,
            expected=">=" + ".".join(map(str, TPU7X_LIBTPU)),
            hint=Hint.set_up("torchtpu", ", because TorchTPU's libtpu supports TPU7x"),
        )


def _apart(packages: Packages) -> Hint:
    """Return the advice to give each framework its own environment."""
    names = [name for name in SETUPS if name in packages]
    commands = " and ".join(f"`tpustarter setup {SETUPS[name]}`" for name in names)
    text = f"make a separate environment for each, with {commands}"
    return Hint(text, setup=SETUPS[names[0]] if names else None)
