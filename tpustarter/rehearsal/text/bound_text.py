"""The lower bound on a run's time as text, worded so that it is not read as a measurement."""

from __future__ import annotations

from collections.abc import Iterator

from tpustarter.core.json_values import as_type
from tpustarter.rehearsal.result_fields import (
    CompiledProgram,
    LowerBound,
    PeakTime,
    ProgramWork,
    ResultFields,
    Utilization,
)
from tpustarter.rehearsal.roofline_bound import (
    count_compiler_flops,
    explain_missing_bound,
    read_bound,
    read_work,
)
from tpustarter.text import phrases

AT_BEST, FLOPS, MFU = "at best", "FLOPs", "MFU"
"""Labels of notes: the bound, the work behind it, and a measured time."""
_LIMITS = {
    "matrix unit": ("the matrix units", "FLOP"),
    "HBM": ("the HBM", "B"),
    "links": ("the links to other chips", "B"),
}
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")

_NOT_LEAST = "masked scores, dearer branches and products that a loop repeats unchanged"

BoundNote = tuple[str, str]
"""A label and a text."""


def format_amount(count: float, unit: str) -> str:
    """Return a quantity with an SI prefix: `1.1 TFLOP`, `805 MB`."""
    step = 0
    while count >= 999.5 and step < len(_PREFIXES) - 1:
        count, step = count / 1000, step + 1
    return f"{count:.3g} {_PREFIXES[step]}{unit}"


def format_time(seconds: float) -> str:
    """Return a short time: `1.2 s`, `4.13 ms`, `12 us`."""
    scales = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
    unit, scale = next((one for one in scales if seconds >= one[1]), scales[-1])
    number = seconds / scale
    return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"


def summarize_bound(result: ResultFields) -> str:
    """Return the bound as `4.13 ms (matrix unit)`; empty without one."""
    bound = read_bound(result)
    return f"{format_time(bound.seconds)} ({bound.limiter})" if bound else ""


def list_bound_notes(result: ResultFields, *, verbose: bool = False) -> Iterator[BoundNote]:
    """Yield notes on the bound, the work behind it, and MFU if a time was measured."""
    if result["status"] != "compiles":
        return
    work, bound = read_work(result), read_bound(result)
    if bound and work:
        largest = next(one for one in bound.limits if one.name == bound.limiter)
        what, unit = _LIMITS[largest.name]
        amount = format_amount(largest.amount, unit)
        text = f"{format_time(bound.seconds)} a run, limited by {what}: {amount} a device at "
        left_out = [*work.unknown, *(["what kernels compute"] if work.kernel_flops else [])]
        without = f", without {phrases.join_words(left_out, most=2)}" if left_out else ""
        text += f"{_peaks(largest)}{without}. A lower bound from documented peaks, not measured"
        yield AT_BEST, text
        if verbose:
            yield from _details(result, work, bound)
    elif verbose:
        yield AT_BEST, f"no bound, because {explain_missing_bound(work)}"
    utilization = as_type(result.get("utilization"), Utilization)
    if utilization:
        yield MFU, _utilization(utilization, bound, work.devices if work else 1)


def _peaks(limit: PeakTime) -> str:
    kinds = limit.name == "matrix unit"
    each = (f"{one.value:.4g} {one.unit}" + f" ({one.name})" * kinds for one in limit.peaks)
    return phrases.join_words(each)


def _details(result: CompiledProgram, work: ProgramWork, bound: LowerBound) -> Iterator[BoundNote]:
    for limit in bound.limits:
        amount = format_amount(limit.amount, _LIMITS[limit.name][1])
        sources = ", ".join(dict.fromkeys(peak.source for peak in limit.peaks))
        text = f"{limit.name}: {format_time(limit.seconds)} for {amount} a device"
        yield AT_BEST, f"{text} at {_peaks(limit)}, by {sources}"
    yield FLOPS, _count_text(work)
    yield from ((FLOPS, f"not counted: {part}") for part in work.unknown)
    yield from ((FLOPS, f"taken as true: {text}") for text in work.assumes)
    if result["flops"] and work.devices:
        yield FLOPS, _compare(result["flops"], result["bytes_accessed"] or 0, work)
    most = count_compiler_flops(result)
    if most is not None and most < work.least_flops / work.devices:
        yield FLOPS, "the compiler simplified the program, so the bound has the compiler's count"


def _count_text(work: ProgramWork) -> str:
    parts = [
        (work.rematerialized_flops, "what jax.checkpoint computes again"),
        (work.flops - work.least_flops - work.kernel_flops, f"{_NOT_LEAST}, not in the bound"),
        (work.kernel_flops, "what kernels claim, not in the bound"),
    ]
    listed = [f"{100 * part / work.flops:.0f} % are {what}" for part, what in parts if part > 0]
    together = f" of all {work.devices} devices" if work.devices > 1 else ""
    listed.insert(0, f"{format_amount(work.flops, 'FLOP')} in matrix products{together}")
    others = f"{format_amount(work.other_operations, '').strip()} other operations"
    return f"{'; '.join(listed)}. {others} are not in the bound"


def _compare(flops: float, moved_bytes: float, work: ProgramWork) -> str:
    counted = f"{format_amount(flops, 'FLOP')} and {format_amount(moved_bytes, 'B')}"
    return (
        f"the compiler counts {counted} on one device, and the trace "
        f"{format_amount(work.flops / work.devices, 'FLOP')}: the compiler's figures have other "
        "operations and temporaries, too, but the body of a loop once, and nothing of a kernel"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _utilization(found: Utilization, bound: LowerBound | None, devices: int) -> str:
    text = (
        f"{_percent(found.mfu)} of the {found.peak_type} peak of "
        f"{phrases.choose_plural(devices, 'one device', f'all {devices} devices')} at "
        f"{format_time(found.step_time_s)} a run"
    )
    more = [
        (found.mfu_unmasked, f"without {_NOT_LEAST}"),
        (found.hfu, "with what is computed again (HFU)"),
    ]
    others = [f"{_percent(share)} {what}" for share, what in more if share != found.mfu]
    text += f" ({', '.join(others)})" if others else ""
    if bound and found.step_time_s < bound.seconds:
        text += (
            ". That is faster than the bound allows: either the time is not that of one whole run, "
            "which ends with `block_until_ready`, or the compiler simplified the program"
        )
    return text
