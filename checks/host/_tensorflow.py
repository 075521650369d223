"""TensorFlow's compatibility with this machine and other packages, and its removed APIs."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.checks.host import _install, _pins, _versions
from tpustarter.probe.finding import Finding, Hint, Verdict

BUILDS = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu")
LAST_LIBTPU = {"2.20": "0.0.31"}
"""Newest libtpu with which a release of tensorflow-tpu can be imported: 0.0.32 and newer lack calls
that it needs, and end the process. It requires `libtpu~=0.0.14`, so pip installs the newest.
Source: measured with tensorflow-tpu 2.20.0 on Python 3.11, libtpu 0.0.14 to 0.0.52 (2026-11)."""

NO_ESTIMATORS = (2, 16)
"""The first release without `tf.estimator`; `tf.contrib` went with 2.0.
Source: https://github.com/tensorflow/tensorflow/releases/tag/v2.16.1"""

Packages = dict[str, _versions.Package]


def tensorflow(packages: Packages, generation: str | None) -> Iterator[Finding]:
    """Judge TensorFlow with other packages and on this TPU generation; None without a TPU."""
    soft: Verdict = "warn" if generation else "info"
    names = [name for name in BUILDS if name in packages]
    alone = not packages.keys() & set(_pins.TPU_EXTRAS)
    own = "make a separate environment for each of them"
    anew = "make a new environment, because removing either one breaks the other"
    rows: list[tuple[bool, str, str, str, str]] = [
        # torch_xla itself recommends tensorflow-cpu.
        ("torch-xla" in packages and names != ["tensorflow-cpu"], "HOST-FRAMEWORKS-TENSORFLOW",
         "may take the TPU before torch_xla does", "no tensorflow beside torch_xla", own),
        (len(names) > 1, "HOST-FRAMEWORKS-TENSORFLOW-TWICE",
         "comes from several packages that overwrite each other's files",
         "tensorflow-tpu alone", anew),
        (generation not in (None, "tpu7x") and alone, "HOST-FRAMEWORKS-TENSORFLOW-CPU",
         "has no TPU support and uses the CPU",
         "tensorflow-tpu", Hint.set_up("tensorflow", ", or `tpustarter setup keras`")),
        (generation == "tpu7x" and (alone or "tensorflow-tpu" in packages),
         "HOST-FRAMEWORKS-TENSORFLOW-TPU7X", "is not supported on TPU7x", "JAX or PyTorch",
         Hint.set_up(_install.SET_UP, ", or `tpustarter setup keras` for Keras on JAX")),
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
    """Judge if tensorflow-tpu can be imported with this libtpu, which its pin does not ensure."""
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
        hint=None if fits else _install.into_this_python(f"libtpu=={last}"),
    )


def tensorflow_facts(packages: Packages, *, on_colab: bool) -> Iterator[Finding]:
    """Yield facts that confirm the errors of old programs and notebooks, without judging them."""
    names = [name for name in BUILDS if name in packages]
    for name in names:
        version = packages[name].version
        if _versions.numbers(version) >= NO_ESTIMATORS:
            yield Finding("HOST-FRAMEWORKS-TENSORFLOW-ESTIMATOR",
                          f"tf.contrib and tf.estimator in {name} {version}", "info",
                          "removed")  # fmt: skip
    if on_colab and not names:
        yield Finding("HOST-FRAMEWORKS-TENSORFLOW-COLAB", "TensorFlow in this runtime of Colab",
                      "info", "not installed")  # fmt: skip
