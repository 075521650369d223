"""Installed versions, judged by the requirements in other packages' metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tpustarter.checks.host import _install, _versions
from tpustarter.machine.frameworks import FRAMEWORKS
from tpustarter.probe.finding import Finding, Verdict

TPU_EXTRAS = dict(row.tpu_package for row in FRAMEWORKS.values() if not row.required_frameworks)
"""Frameworks that load libtpu, and the extra in which they name the versions they work with."""

PARTS = ("numpy", "scipy", "ml-dtypes", "keras")
"""Packages that are reported only if a framework requires another version."""


class Pair(NamedTuple):
    """A package that requires certain versions of another one."""

    name: str
    part: str
    extra: str | None
    verdict: Verdict | None
    """The verdict on any other version; None for a warning on a TPU machine, else `info`."""


PAIRS = (
    Pair("jax", "jaxlib", None, "fail"),
    Pair("torch-tpu", "torch", None, "fail"),
    *(Pair(name, "libtpu", extra, None) for name, extra in TPU_EXTRAS.items()),
    Pair("vllm-tpu", "tpu-inference", None, "fail"),
    Pair("tpu-inference", "jax", None, "warn"),
    Pair("tpu-inference", "libtpu", None, None),
    Pair("tpu-inference", "torchax", None, "warn"),
    Pair("jax", "numpy", None, "warn"),
    Pair("jax", "scipy", None, "warn"),
    Pair("jax", "ml-dtypes", None, "warn"),
    Pair("jaxlib", "numpy", None, "warn"),
    Pair("jaxlib", "scipy", None, "warn"),
    Pair("jaxlib", "ml-dtypes", None, "warn"),
    Pair("tensorflow-tpu", "keras", None, "warn"),
    Pair("tensorflow-tpu", "numpy", None, "warn"),
    Pair("tensorflow-tpu", "ml-dtypes", None, "warn"),
)
"""Pairs that are built against each other (`fail`), or need calls that an older version lacks."""

Packages = dict[str, _versions.Package]


def pins(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Judge every installed pair; those of `PARTS` that fit are not reported."""
    for name, part, extra, verdict in PAIRS:
        if name not in packages or part not in packages:
            continue
        specifier = _versions.specifier_for(packages[name], part, extra)
        fits = _versions.allows(specifier, packages[part].version) if specifier else None
        if fits is None or (fits and part in PARTS):
            continue
        judged = "ok" if fits else verdict or ("warn" if tpu else "info")
        yield Finding(
            code=f"HOST-FRAMEWORKS-{_code(name, part)}-PIN",
            name=f"version of {part} that {name} {packages[name].version} requires",
            verdict=judged,
            found=packages[part].version,
            expected=specifier,
            entity=f"package:{name}",
            # Without a TPU libtpu is not needed at all.
            hint=_fitting(packages, name, part, extra) if judged in ("warn", "fail") else None,
        )


def _code(name: str, part: str) -> str:
    """Return the middle of the code: PyTorch/XLA's pin on torch had `TORCH` first."""
    return "TORCH-TPU" if (name, part) == ("torch-tpu", "torch") else part.upper()


def _fitting(packages: Packages, name: str, part: str, extra: str | None) -> str:
    """Return the advice for a fitting part; frameworks that share it need separate environments."""
    sharing = [framework for framework in TPU_EXTRAS if framework in packages]
    if len(sharing) > 1:
        return f"make a separate environment for each of {', '.join(sharing)}"
    if part in PARTS:
        specifier = _versions.specifier_for(packages[name], part, extra)
        return _install.into_this_python(f"{part}{specifier}")
    requirement = (
        f"{name.replace('-', '_')}{f'[{extra}]' if extra else ''}=={packages[name].version}"
    )
    return _install.into_this_python(requirement)
