"""Documented peak rates of devices, and measured rates that were published.

The rule to know: figures are of one JAX device, in the unit of the peak, and each names its source.
"""

from typing import NamedTuple

from tpustarter.machine import tpus

PEAKS = {
    "float32": "bf16_tflops",  # multiplied in one bfloat16 pass, unless precision is asked for
    "bfloat16": "bf16_tflops",
    "int8": "int8_tops",
    "int4": "int4_tops",
    "float8_e5m2": "fp8_tflops",
    "float8_e4m3fn": "fp8_tflops",
    "float8_e4m3b11fnuz": "fp8_tflops",
    "HBM": "hbm_gb_per_s",
}
"""The field of `tpus.Generation` with the peak of each kind; other kinds have none."""

_RECIPES = "https://github.com/AI-Hypercomputer/tpu-recipes/blob/c8cfe2f/microbenchmarks"
_JETSTREAM = "https://github.com/AI-Hypercomputer/jetstream-pytorch/pull/168"


class Published(NamedTuple):
    """A rate that somebody measured on one device, in TFLOP/s, TOP/s or GB/s."""

    generation: str
    kind: str
    """One of `PEAKS`."""
    rate: float
    source: str


PUBLISHED = (
    # 8192-cubed by XLA; 4096-cubed reads 166 there.
    Published("v5e", "bfloat16", 181.8, "https://docs.jax.dev/en/latest/pallas/tpu/matmul.html"),
    # 32768-cubed on each of 8 devices: 438.17 ms in bfloat16, 186.436 ms in int8.
    Published("v5e", "bfloat16", 160.6, _JETSTREAM),
    Published("v5e", "int8", 377.4, _JETSTREAM),
    # 8192-cubed by the host's clock; the trace of the device reads 827.
    Published("v6e", "bfloat16", 754.2, f"{_RECIPES}/README.md"),
    # A copy of 32 MiB.
    Published("v6e", "HBM", 1359.6, f"{_RECIPES}/README.md"),
    # 4096-cubed; 16384-cubed reads 950.
    Published("tpu7x", "bfloat16", 892.9, f"{_RECIPES}/ironwood/README.md"),
    # A copy of 512 MiB.
    Published("tpu7x", "HBM", 3199.0, f"{_RECIPES}/ironwood/hbm/hbm.md"),
)

SLOW = 0.75
"""Fraction of the lowest published rate below which a rate is a warning.

Published rates of one chip and one kind of work differ by 0.88 (v5e above), and by 0.91 with the
clock they are read from (v6e above): as much again is left for another shape.
"""

IMPOSSIBLE = 1.05
"""Multiple of the highest peak above which a rate is a warning; documents round by under 0.01."""

STRAGGLER = 0.9
"""Fraction of the median of all devices below which a device is named.

No source gives a bound; the host's clock alone makes 0.91 of a rate (v6e above).
"""


def peak(device, kind):
    """Return the documented figures of one device, lowest first; empty if none is known."""
    generation = tpus.find_generation_by_device_kind(device.device_kind)
    if generation is None or generation.devices_per_chip is None or kind not in PEAKS:
        return []
    figure = getattr(generation, PEAKS[kind])
    if figure is None:
        return []
    figures = {figure.value, *(value for value, _ in figure.others)}
    return sorted(value / generation.devices_per_chip for value in figures)


def published(device, kind):
    """Return the lowest rate that was published for such a device, or None."""
    generation = tpus.find_generation_by_device_kind(device.device_kind)
    chip = generation.name if generation else None
    rows = [row for row in PUBLISHED if (row.generation, row.kind) == (chip, kind)]
    return min(rows, key=lambda row: row.rate, default=None)
