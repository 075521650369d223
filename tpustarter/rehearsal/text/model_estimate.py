"""The compiler's performance model as text, worded so that it is not read as a measurement."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.machine.tpus import find_topology
from tpustarter.rehearsal.result_fields import CompiledProgram

_PEAKS = {
    "f32": "bf16_tflops",
    "bf16": "bf16_tflops",
    "f8": "fp8_tflops",
    "s8": "int8_tops",
    "s4": "int4_tops",
}
"""Fields of `Generation` with the peak rate of matrix products, keyed by type in HLO notation."""


def format_model_estimate(result: CompiledProgram) -> str:
    """Return the model's estimate of a run, as a sentence that follows the word "model".

    Nothing in it may read like the time or rate of a real TPU.
    """
    seconds = result["compiler_model_seconds"]
    if not seconds:
        return f"gives no estimate, because {result['compiler_model_reason']}"
    estimate = f"estimates {seconds * 1e3:.3g} ms for a run, not measured on a TPU"
    rates = list(_model_rates(result, seconds))
    return f"{estimate}; that would be {max(rates)[1]}" if rates else estimate


def _model_rates(result: CompiledProgram, seconds: float) -> Iterator[tuple[float, str]]:
    generation = find_topology(result["tpu"]).type.generation
    kinds = {name for dot in result["dots"] for name in (dot["left"], dot["right"])}
    rates = [("GB/s of memory traffic", 1e9, result["bytes_accessed"], "hbm_gb_per_s")]
    if kinds:
        kind = kinds.pop() if len(kinds) == 1 else "several"
        field = _PEAKS.get("f8" if kind.startswith("f8") else kind, "")
        rates.append(
            ("TOP/s" if field.endswith("tops") else "TFLOP/s", 1e12, result["flops"], field)
        )
    for unit, scale, work, field in rates:
        figure = getattr(generation, field, None)
        peak = figure or generation.bf16_tflops
        if not (work and peak and generation.devices_per_chip):
            continue
        figures = sorted({peak.value, *(value for value, _ in peak.others)})
        peaks = [value / generation.devices_per_chip for value in figures]
        rate = work / seconds / scale
        ends = [f"{value:.4g}" for value in dict.fromkeys([peaks[0], peaks[-1]])]
        documented = f"documented peak {' to '.join(ends)}"
        yield rate / peaks[0], f"{rate:.4g} {unit} ({documented if figure else 'no peak is known'})"
