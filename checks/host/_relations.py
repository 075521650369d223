"""Mistakes that show when variables are compared with each other, or with the machine."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from tpustarter.checks.host import _settings
from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint, Verdict

PLATFORMS = ("tpu", "cpu", "cuda", "rocm", "gpu", "proxy", "METAL", "oneapi", "sycl")
PLATFORMS += ("xpu", "hpu", "npu", "neuron", "mps", "iree")
"""Names that JAX or a published plug-in registers, which are case-sensitive."""
MEGASCALE = ("MEGASCALE_COORDINATOR_ADDRESS", "MEGASCALE_NUM_SLICES", "MEGASCALE_SLICE_ID")
LIBRARIES = ("TPU_LIBRARY_PATH", "PTXLA_TPU_LIBRARY_PATH")


def findings(machine: host.Machine) -> Iterator[Finding]:
    """Yield every mistake of this kind."""
    yield from _platforms(machine)
    yield from _jax_settings(machine)
    yield from _library(machine)
    yield from _megascale(machine)
    yield from _chips(machine)


def _platforms(machine: host.Machine) -> Iterator[Finding]:
    """Yield mistakes in JAX_PLATFORMS, whose words JAX compares exactly, including spaces."""
    name, tpu = "JAX_PLATFORMS", host.guess_platform(machine) == "tpu"
    value = machine.env.get(name, "")
    if "tpu" in value.split(",") and not tpu and not host.unknown_google_devices(machine):
        says = "selects the TPU, but this machine shows none"
        yield _bad("warn", name, says, host.clean_text(value, 40), "cpu, or unset")
    for word in filter(None, value.split(",")):
        near = get_close_matches(word.strip().lower(), PLATFORMS, n=1)
        if word not in PLATFORMS and near:
            actual = (
                f"`{host.clean_text(word, 40)}`" if word == word.strip() else "a space in the list"
            )
            usual = "tpu,cpu" if tpu else "cpu"
            right = usual if near[0] in ("tpu", "cpu") else f"{near[0]},cpu"
            hint = Hint.run(f"unset {name}", f", or write `{name}={right}`")
            yield _bad("fail", name, "doesn't name a platform of JAX", actual, near[0], hint=hint)


def _jax_settings(machine: host.Machine) -> Iterator[Finding]:
    """Yield the settings that JAX refuses; its import fails at the first of them."""
    for name, actual, expected in _settings.refused(machine.env):
        says = "has a value that JAX refuses, so JAX doesn't start"
        yield _bad("fail", name, says, actual or "an empty value", expected)


def _library(machine: host.Machine) -> Iterator[Finding]:
    """Yield paths of a missing libtpu; JAX warns and uses its own, PyTorch/XLA does not check."""
    verdict = "warn" if host.guess_platform(machine) == "tpu" else "info"
    for name in LIBRARIES:
        if machine.env.get(name) and not machine.is_file(machine.env[name]):
            yield _bad(
                verdict,
                name,
                "names a file that doesn't exist",
                "no such file",
                "a libtpu.so, or unset",
            )


def _megascale(machine: host.Machine) -> Iterator[Finding]:
    """Yield leftover variables for several slices, which make a program wait at its start."""
    missing = [name for name in MEGASCALE if not machine.env.get(name)]
    if 0 < len(missing) < len(MEGASCALE):
        actual = f"without {' and '.join(missing)}"
        hint = Hint.run(f"unset {' '.join(name for name in MEGASCALE if name not in missing)}")
        yield _bad("warn", "MEGASCALE_*", "are not all set", actual, "all, or none", hint=hint)
    slices, index = (host.parse_number(machine.env.get(name)) for name in MEGASCALE[1:])
    if slices is not None and index is not None and index >= slices:
        hint = Hint.run(f"unset {' '.join(MEGASCALE)}", ", or set them for this run")
        says = "is not the index of a slice of this run"
        yield _bad("fail", MEGASCALE[2], says, index, f"less than {slices}", hint=hint)


def _chips(machine: host.Machine) -> Iterator[Finding]:
    """Compare the bounds of a process with the chips it may use."""
    chosen = [chip for chip in machine.env.get("TPU_VISIBLE_CHIPS", "").split(",") if chip.strip()]
    bounds = host.multiply_topology_bounds(machine.env.get("TPU_CHIPS_PER_PROCESS_BOUNDS"))
    if chosen and bounds and bounds != len(chosen):
        name = "TPU_CHIPS_PER_PROCESS_BOUNDS"
        yield _bad(
            "warn", name, "disagrees with the number of TPU_VISIBLE_CHIPS", bounds, len(chosen)
        )


def _bad(
    verdict: Verdict,
    name: str,
    says: str,
    actual: str | int,
    expected: str | int,
    *,
    hint: str | None = None,
) -> Finding:
    return Finding(
        code="HOST-ENVIRONMENT-VALUE",
        name=f"{name} {says}",
        verdict=verdict,
        found=actual,
        expected=expected,
        entity=f"variable:{name}",
        hint=hint or Hint.run(f"unset {name}"),
    )
