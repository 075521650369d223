"""A lower bound on the time of one run, from a program's work and documented peaks.

No TPU is faster than its data sheet. So a run takes at least as long as its FLOPs at the peak of
the matrix units, its bytes at the bandwidth of the memory, and the data it receives at the
bandwidth of the links. Where sources differ, the highest peak counts. All of this is arithmetic,
and nothing is measured. A compiler that simplifies a program may do less work than was counted, so
the bound has no more FLOPs than the compiler's own count, where that is valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import msgspec

from tpustarter.core.json_values import as_type
from tpustarter.machine.generations import Generation, SourcedFigure
from tpustarter.machine.tpus import find_topology
from tpustarter.rehearsal.result_fields import (
    CollectiveOperation,
    CompiledProgram,
    DocumentedPeak,
    LowerBound,
    MatrixWork,
    PeakTime,
    ProgramWork,
    ResultFields,
    Utilization,
)

_NARROW = {"f8": ("fp8_tflops",), "s8": ("int8_tops",), "u8": ("int8_tops",)} | dict.fromkeys(
    ("s4", "u4", "s2", "u2", "f4"), ("int4_tops", "int8_tops", "fp8_tflops")
)
"""Fields of `Generation` with the peaks of types that may be faster than bfloat16."""


_SEVERAL = "no MFU, because the measured time is that of one program, and this run has several"


def read_work(result: ResultFields) -> ProgramWork | None:
    """Return a result's work, or None if nothing was counted."""
    return as_type(result.get("work"), ProgramWork)


def read_bound(result: ResultFields) -> LowerBound | None:
    """Return a result's lower bound, or None if it has none."""
    return as_type(result.get("bound"), LowerBound)


def add_bound(result: ResultFields) -> ResultFields:
    """Return a result with its program's `bound`, if it has one."""
    if result["status"] != "compiles":
        return result
    counted = _read_counted_work(result)
    bound = compute_bound(result, counted) if counted else None
    return {**result, "bound": asdict(bound)} if bound else result


def add_measured_utilization(
    results: Sequence[ResultFields], measured_s: float
) -> list[ResultFields]:
    """Return results with the `utilization` of a measured run, or a note on why it is missing.

    A measured time is that of one program. If there are several, it is not known which.
    """
    several = len({(one.get("check"), one["program"]) for one in results}) > 1
    return [_add_utilization(one, measured_s, several=several) for one in results]


def _add_utilization(result: ResultFields, measured_s: float, *, several: bool) -> ResultFields:
    if result["status"] != "compiles":
        return result
    counted = _read_counted_work(result)
    found = compute_utilization(result, counted, measured_s) if counted else None
    if found and not several:
        return {**result, "utilization": msgspec.to_builtins(found)}
    note = _SEVERAL if found else f"no MFU, because {explain_missing_bound(read_work(result))}"
    return {**result, "notes": [*result.get("notes", ()), note]}


def _read_counted_work(result: CompiledProgram) -> ProgramWork | None:
    work = read_work(result)
    return None if work is None or work.reason is not None else work


def explain_missing_bound(work: ProgramWork | None) -> str:
    """Return the reason why a program that compiles has no bound or no utilization."""
    if work is None:
        return "FLOPs are counted in a trace of JAX, and this program came without one"
    if work.reason is not None:
        return work.reason
    if work.unknown:
        return f"FLOPs are not known of {', '.join(work.unknown)}"
    return "no peak of this TPU is documented" if work.flops else "it has no matrix products"


def compute_bound(result: CompiledProgram, work: ProgramWork) -> LowerBound | None:
    """Return the lower bound for a program that compiles, or None if no peak is documented."""
    generation = find_topology(result["tpu"]).type.generation
    found = (
        _bound_matrix(result, work, generation),
        _bound_memory(work, result.get("written_bytes"), generation),
        _bound_links(result["collectives"], generation),
    )
    limits = tuple(one for one in found if one)
    if not limits:
        return None
    largest = max(limits, key=lambda one: one.seconds)
    return LowerBound(largest.seconds, largest.name, limits)


def compute_utilization(
    result: ResultFields, work: ProgramWork, measured_s: float
) -> Utilization | None:
    """Return MFU and HFU for a measured time, or None if the FLOPs or the peak are unknown."""
    if not work.flops or work.unknown:
        return None
    generation = find_topology(result["tpu"]).type.generation
    busiest = max(work.matrix, key=lambda one: one.flops)
    kind = _faster_type(busiest, generation)
    figure, name = _peak_figure(kind, generation)
    if figure is None or not generation.devices_per_chip:
        return None
    per_second = work.devices * figure.value / generation.devices_per_chip * 1e12 * measured_s
    again = work.rematerialized_flops
    share = again / work.flops
    return Utilization(
        measured_s,
        mfu=(work.flops - again) / per_second,
        mfu_unmasked=(work.least_flops + work.kernel_flops) * (1 - share) / per_second,
        hfu=work.flops / per_second,
        peak_type=name,
    )


def count_compiler_flops(result: CompiledProgram) -> float | None:
    """Return the compiler's FLOPs for one device, or None if loops or kernels hide some."""
    flops = result["flops"]
    if not flops or flops < 0 or result["loops"] or result["kernels"]:
        return None
    return float(flops)


def _bound_matrix(
    result: CompiledProgram, work: ProgramWork, generation: Generation
) -> PeakTime | None:
    seconds, amount, peaks = 0.0, 0.0, dict[str, DocumentedPeak]()
    for one in work.matrix:
        if not one.least_flops:
            continue
        peak = _peak(one, generation)
        if peak is None:
            return None
        name = f"{peak.name}, {one.passes} passes" if one.passes > 1 else peak.name
        peaks[name] = replace(peak, name=name)
        flops = one.least_flops / work.devices
        amount += flops
        seconds += one.passes * flops / (peak.value * 1e12)
    if not peaks:
        return None
    most = count_compiler_flops(result)
    share = 1.0 if most is None else min(1.0, most / amount)
    return PeakTime("matrix unit", share * amount, share * seconds, tuple(peaks.values()))


def _peak(work: MatrixWork, generation: Generation) -> DocumentedPeak | None:
    figure, name = _peak_figure(_faster_type(work, generation), generation)
    if figure is None or not generation.devices_per_chip:
        return None
    value, source = _highest(figure)
    unit = "TOP/s" if name.startswith("int") else "TFLOP/s"
    return DocumentedPeak(name, value / generation.devices_per_chip, unit, source)


def _faster_type(work: MatrixWork, generation: Generation) -> str:
    # A product of two types may be computed in either of them.
    def value(kind: str) -> float:
        figure, _ = _peak_figure(kind, generation)
        return _highest(figure)[0] if figure else 0.0

    return max(work.left, work.right, key=value)


def _peak_figure(kind: str, generation: Generation) -> tuple[SourcedFigure | None, str]:
    narrow = next((fields for start, fields in _NARROW.items() if kind.startswith(start)), ())
    names = {"fp8_tflops": "fp8", "int8_tops": "int8", "int4_tops": "int4", "bf16_tflops": "bf16"}
    figures = [(getattr(generation, one), names[one]) for one in ("bf16_tflops", *narrow)]
    known = [(figure, name) for figure, name in figures if figure is not None]
    return max(known, key=lambda pair: _highest(pair[0])[0], default=(None, ""))


def _highest(figure: SourcedFigure) -> tuple[float, str]:
    return max([(figure.value, figure.source), *figure.others])


def _bound_memory(
    work: ProgramWork, written: float | None, generation: Generation
) -> PeakTime | None:
    figure = generation.hbm_gb_per_s
    if figure is None or written is None or not generation.devices_per_chip:
        return None
    value, source = _highest(figure)
    peak = DocumentedPeak("HBM", value / generation.devices_per_chip, "GB/s", source)
    amount = work.read_bytes + written
    return PeakTime("HBM", amount, amount / (peak.value * 1e9), (peak,))


def _bound_links(
    collectives: Sequence[CollectiveOperation], generation: Generation
) -> PeakTime | None:
    # The documented figure is per chip, for both directions together.
    figure, per_chip = generation.ici_gb_per_s, generation.devices_per_chip
    received = sum(count_link_bytes(one, per_chip or 0) for one in collectives)
    if figure is None or not per_chip or not received:
        return None
    value, source = _highest(figure)
    peak = DocumentedPeak("links", value / 2, "GB/s received", source)
    return PeakTime("links", received, received / (peak.value * 1e9), (peak,))


def count_link_bytes(collective: CollectiveOperation, devices_per_chip: int) -> float:
    """Return the fewest bytes that a chip receives from other chips of its slice for one device.

    At best, the other devices of the chip are in the same group, and pass on their data without the
    links. A collective whose group or number of runs is unknown counts as 0.
    """
    received, group = collective.get("received_bytes"), collective.get("group_size")
    if not received or collective.get("link") != "ici":
        return 0.0
    if devices_per_chip == 1:
        return float(received)
    if group is None or collective["op"] in ("collective-permute", "collective-broadcast"):
        return 0.0
    return received * max(0, group - devices_per_chip) / (group - 1) if group > 1 else 0.0
