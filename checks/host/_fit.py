"""Whether installed frameworks fit each other, judged by what their own metadata asks for."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.checks.host import _install, _versions
from tpustarter.probe.finding import Finding, Verdict

YANKED = ("0.4.32",)
"""jax and jaxlib that corrupt data on several slices. Source: JAX changelog, 0.4.33."""
OLDEST_JAX = "0.6.2"
TPU_EXTRAS: dict[str, str | None] = {
    "jax": "tpu",
    "torch-xla": "tpu",
    "torch-tpu": None,
    "tensorflow-tpu": None,
}
"""Frameworks that load libtpu, and the extra in which they name the versions they work with."""

Packages = dict[str, _versions.Package]


def versions(found: Packages) -> Iterator[Finding]:
    """Tell every version; a withdrawn one fails, an unsupported JAX is a warning."""
    for name, package in found.items():
        code, verdict, expected, hint = "HOST-FRAMEWORKS-VERSION", "info", None, None
        if name in ("jax", "jaxlib") and package.version in YANKED:
            verdict, expected = "fail", "0.4.33 or newer"
        elif name == "jax" and _versions.numbers(package.version) < _versions.numbers(OLDEST_JAX):
            verdict, expected = "warn", f"{OLDEST_JAX} or newer"
        if expected:
            hint = f"run `{_install.into_this_python('-U', 'jax[tpu]')}`"
        yield Finding(code, name, verdict, package.version, expected, hint=hint)


def libtpu_there(found: Packages, *, elsewhere: bool) -> Iterator[Finding]:
    """Judge, on a machine with a TPU, that frameworks have the library that drives it.

    Args:
        found: What is installed.
        elsewhere: TPU_LIBRARY_PATH names a library outside this Python.
    """
    for name in ("jax", "torch-xla"):
        if name in found and "libtpu" not in found and not elsewhere:
            wanted = f"{name.replace('-', '_')}[tpu]=={found[name].version}"
            asked = _versions.asked(found[name], "libtpu", TPU_EXTRAS[name])
            yield Finding(
                code="HOST-FRAMEWORKS-LIBTPU",
                name=f"{name} has no libtpu here and cannot reach the TPU",
                verdict="fail",
                found="no libtpu",
                expected=f"libtpu {asked}" if asked else "libtpu",
                entity=f"package:{name}",
                hint=f"run `{_install.into_this_python(wanted)}`",
            )


def pins(found: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Judge installed versions by what frameworks ask for.

    jax without its jaxlib fails anywhere; another libtpu than asked for matters on a TPU.
    """
    soft: Verdict = "warn" if tpu else "info"
    wanted: list[tuple[str, str, str | None, Verdict]] = [("jax", "jaxlib", None, "fail")]
    for name, extra in TPU_EXTRAS.items():
        wanted.append((name, "libtpu", extra, soft))
    for name, part, extra, verdict in wanted:
        if name not in found or part not in found:
            continue
        asked = _versions.asked(found[name], part, extra)
        fits = _versions.allows(asked, found[part].version) if asked else None
        if fits is None:
            continue
        yield Finding(
            code=f"HOST-FRAMEWORKS-{part.upper()}-PIN",
            name=f"{part}, as {name} {found[name].version} asks for it",
            verdict="ok" if fits else verdict,
            found=found[part].version,
            expected=asked,
            entity=f"package:{name}",
            hint=None if fits else _one_each(found, name, extra),
        )


def _one_each(found: Packages, name: str, extra: str | None) -> str:
    """Say how to get a fitting part: one environment per framework, where several share it."""
    sharing = [other for other in TPU_EXTRAS if other in found]
    if len(sharing) > 1:
        return f"make an environment of its own for each of {', '.join(sharing)}"
    wanted = f"{name.replace('-', '_')}{f'[{extra}]' if extra else ''}=={found[name].version}"
    return f"run `{_install.into_this_python(wanted)}`"


def clashes(found: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Judge distributions that overwrite or block each other."""
    if "libtpu" in found and "libtpu-nightly" in found:
        yield Finding(
            code="HOST-FRAMEWORKS-NIGHTLY",
            name="libtpu-nightly overwrites files of libtpu",
            verdict="fail" if tpu else "warn",
            found=f"libtpu-nightly {found['libtpu-nightly'].version}",
            expected="libtpu alone",
            hint="make a new environment: removing either of them breaks the other",
        )
    if "torch" in found and "torch-xla" in found:
        torch, xla = (found[name].version for name in ("torch", "torch-xla"))
        fits = _versions.numbers(torch)[:2] == _versions.numbers(xla)[:2]
        release = ".".join(map(str, _versions.numbers(xla)))
        wanted = (f"torch=={release}", f"torch_xla[tpu]=={release}")
        yield Finding(
            code="HOST-FRAMEWORKS-TORCH-PIN",
            name=f"torch, as torch_xla {xla} was built for it",
            verdict="ok" if fits else "fail",
            found=torch,
            expected=".".join(release.split(".")[:2]) + ".*",
            hint=None if fits else f"run `{_install.into_this_python(*wanted)}`",
        )
    tensorflow = next((name for name in ("tensorflow", "tensorflow-tpu") if name in found), None)
    if tensorflow and "torch-xla" in found:
        yield Finding(
            code="HOST-FRAMEWORKS-TENSORFLOW",
            name="may take the TPU before torch_xla does",
            verdict="warn" if tpu else "info",
            found=f"{tensorflow} {found[tensorflow].version}",
            expected="no tensorflow beside torch_xla",
            hint="make an environment of its own for each of them",
        )
