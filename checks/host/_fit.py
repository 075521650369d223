"""Whether installed frameworks fit each other, judged by what their own metadata requires."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.checks.host import _install, _pins, _versions
from tpustarter.machine import frameworks
from tpustarter.probe.finding import Finding, Verdict

YANKED = ("0.4.32",)
"""jax and jaxlib that corrupt data on several slices. Source: JAX changelog, 0.4.33."""

LAST_LIBTPU = {"2.20": "0.0.31"}
"""Newest libtpu with which a release of tensorflow-tpu can be imported: 0.0.32 and newer lack what
it calls, and end the process. It asks for `libtpu~=0.0.14`, so pip installs the newest.
Source: measured with tensorflow-tpu 2.20.0 on Python 3.11, libtpu 0.0.14 to 0.0.52 (2026-11)."""

Packages = dict[str, _versions.Package]


def versions(packages: Packages, *, tpu: bool) -> Iterator[Finding]:
    """Tell every version; a withdrawn one fails, an unsupported JAX is a warning."""
    for name, package in packages.items():
        if name in _pins.PARTS:
            continue
        code, verdict, expected, hint = "HOST-FRAMEWORKS-VERSION", "info", None, None
        if name in ("jax", "jaxlib") and package.version in YANKED:
            verdict, expected = "fail", "0.4.33 or newer"
        elif frameworks.is_too_old(name, package.version):
            verdict, expected = "warn", f"{frameworks.FRAMEWORKS[name].oldest} or newer"
        if expected:
            hint = f"run `{_install.into_this_python('-U', 'jax[tpu]' if tpu else 'jax')}`"
        yield Finding(code, name, verdict, package.version, expected, hint=hint)


def jaxlib_present(packages: Packages, *, elsewhere: bool) -> Iterator[Finding]:
    """Judge that JAX has the library without which it cannot be imported.

    Args:
        packages: What is installed.
        elsewhere: One that no installed package tells of can be imported.
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
            hint=f"run `{_install.into_this_python(requirement)}`",
        )


def libtpu_present(packages: Packages, *, elsewhere: bool) -> Iterator[Finding]:
    """Judge, on a machine with a TPU, that frameworks have the library that drives it.

    Args:
        packages: What is installed.
        elsewhere: TPU_LIBRARY_PATH names a library outside this Python.
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
                hint=f"run `{_install.into_this_python(requirement)}`",
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


def tensorflow(packages: Packages, generation: str | None) -> Iterator[Finding]:
    """Judge TensorFlow beside others and on this TPU; null for a machine without one."""
    soft: Verdict = "warn" if generation else "info"
    builds = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu")
    names = [name for name in builds if name in packages]
    alone = not packages.keys() & set(_pins.TPU_EXTRAS)
    own = "make a separate environment for each of them"
    anew = "make a new environment, because removing either one breaks the other"
    rows: list[tuple[bool, str, str, str, str]] = [
        # torch_xla itself recommends tensorflow-cpu beside it.
        ("torch-xla" in packages and names != ["tensorflow-cpu"], "HOST-FRAMEWORKS-TENSORFLOW",
         "may take the TPU before torch_xla does", "no tensorflow beside torch_xla", own),
        (len(names) > 1, "HOST-FRAMEWORKS-TENSORFLOW-TWICE",
         "comes from several packages that overwrite each other's files",
         "tensorflow-tpu alone", anew),
        (generation not in (None, "tpu7x") and alone, "HOST-FRAMEWORKS-TENSORFLOW-CPU",
         "has no TPU support and uses the CPU",
         "tensorflow-tpu", "run `tpustarter setup tensorflow`, or `tpustarter setup keras`"),
        (generation == "tpu7x" and (alone or "tensorflow-tpu" in packages),
         "HOST-FRAMEWORKS-TENSORFLOW-TPU7X", "is not supported on TPU7x", "JAX or PyTorch",
         f"run `{_install.SET_UP}`, or `tpustarter setup keras` for Keras on JAX"),
    ]  # fmt: skip
    for applies, code, says, expected, hint in rows:
        if names and applies:
            yield Finding(
                code=code,
                name=f"tensorflow {says}",
                verdict=soft,
                found=", ".join(f"{name} {packages[name].version}" for name in names),
                expected=expected,
                hint=hint,
            )


def tensorflow_libtpu(packages: Packages) -> Iterator[Finding]:
    """Judge whether tensorflow-tpu can be imported beside its libtpu: its pin does not say."""
    if "tensorflow-tpu" not in packages or "libtpu" not in packages:
        return
    release, libtpu = packages["tensorflow-tpu"].version, packages["libtpu"].version
    last = LAST_LIBTPU.get(".".join(release.split(".")[:2]))
    if last is None:
        return
    fits = _versions.numbers(libtpu) <= _versions.numbers(last)
    yield Finding(
        code="HOST-FRAMEWORKS-TENSORFLOW-LIBTPU",
        name=f"libtpu with which tensorflow-tpu {release} can be imported",
        verdict="ok" if fits else "fail",
        found=libtpu,
        expected=f"{last} or older",
        entity="package:tensorflow-tpu",
        hint=None if fits else f"run `{_install.into_this_python(f'libtpu=={last}')}`",
    )
