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
"""Told of only where a framework asks for another version."""


class Pair(NamedTuple):
    """A package that asks for versions of another one."""

    name: str
    part: str
    extra: str | None
    verdict: Verdict | None
    """Where the version is another one; null: a warning on a TPU machine, else told."""


PAIRS = (
    Pair("jax", "jaxlib", None, "fail"),
    Pair("torch-tpu", "torch", None, "fail"),
    *(Pair(name, "libtpu", extra, None) for name, extra in TPU_EXTRAS.items()),
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
"""Built against each other (`fail`), or needed by calls that the older version has not."""

Packages = dict[str, _versions.Package]


def pins(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Judge every pair that is installed; of parts that fit nothing is said."""
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
    """Say how to get a fitting part: one environment per framework, where several share it."""
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
