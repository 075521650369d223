"""The rate of a loop on each device, compared with documented and published figures.

The rule to know: documents give a peak, and a peak is not a promise. A rate fails only if it is far
below what others published for the same chip, or above what any chip can do; otherwise it is
reported as a fraction of the peak, or of the lowest peak if sources differ.
"""

import statistics

from tpustarter.checks.jax._published import IMPOSSIBLE, SLOW, STRAGGLER, peak, published
from tpustarter.checks.jax._shares import label
from tpustarter.probe.finding import Finding, Hint
from tpustarter.probe.target import target

UNITS = {"TFLOP/s": 1e12, "TOP/s": 1e12, "GB/s": 1e9}

IDLE = Hint.run(
    "tpustarter check 'jax.*_rate' -v", " again while nothing else runs on this machine"
)


def rates(code, name, timing, devices, *, work, unit, kind=""):
    """Yield the findings of one measured loop: rate, share of the peak, each device, stragglers.

    Args:
        code: The code of the rate, such as `JAX-HBM-RATE`, with which the other codes begin.
        name: The measured operation, such as `memory copy`.
        timing: A `_timing.Timing`; one without `alone` gives only the rate of all at once.
        devices: The measured devices, in the order of the loop's `times`.
        work: Operations or bytes of one device in one round.
        unit: One of `UNITS`.
        kind: One of `_published.PEAKS`, or an empty text if no peak is documented.
    """

    def rate(seconds):
        return work / seconds / UNITS[unit]

    crowd = rate(statistics.median(timing.together))
    usual = [rate(seconds) for seconds in timing.usual] or [crowd]
    best = [rate(seconds) for seconds in timing.best] or [rate(min(timing.together))]
    median, top = statistics.median(usual), statistics.median(best)
    yield Finding(code, name, "info", plain(median), unit=unit)
    yield Finding(f"{code}-BEST", f"{name}, best", "info", plain(top), unit=unit)
    verdict, share, bound, hint = judge(median, unit, devices[0], kind)
    what = f"{name}, of the documented peak"
    actual = "no reference for this device" if share is None else f"{100 * share:.0f} %"
    yield Finding(f"{code}-PEAK", what, verdict, actual, bound, hint=hint, share=share)
    if len(timing.alone) < 2:
        return
    yield Finding(
        f"{code}-TOGETHER", f"{name}, each of all at once", "info", plain(crowd), unit=unit
    )
    for device, value in zip(devices, usual, strict=True):
        what, entity = f"{name}, alone", label(device)
        yield Finding(f"{code}-DEVICE", what, "info", plain(value), unit=unit, entity=entity)
    alone = dict(zip(map(label, devices), best, strict=True))
    yield from stragglers(f"{code}-STRAGGLER", name, alone, unit)


def judge(rate, unit, device, kind):
    """Return verdict, share of the peak, bound and hint."""
    figures, row = peak(device, kind), published(device, kind)
    if not figures:
        return "info", None, None, None
    lowest, *others = (f"{figure:.5g}" for figure in figures)
    documented = f"{lowest} {unit}" + f" (others say {', '.join(others)})" * bool(others)
    share = rate / figures[0]
    if rate > IMPOSSIBLE * figures[-1]:
        hint = "no chip exceeds its peak, so the device misreports its kind, or the clock is wrong"
        return "warn", share, f"at most {documented}", hint
    if row is None:
        return "info", share, f"at most {documented}", None
    bound = f"at least {100 * SLOW * row.rate / figures[0]:.0f} % of {documented}"
    if rate >= SLOW * row.rate:
        return "ok", share, bound, None
    return "warn", share, bound, f"{IDLE}; others measured {plain(row.rate)} {unit} ({row.source})"


def stragglers(code, name, best, unit):
    """Yield the number of devices with about the usual rate, then each slower device.

    `best` is the highest rate of each device. Virtual devices share the cores of one machine, so a
    slow one is no fault.
    """
    median = statistics.median(best.values())
    slow = {entity: rate for entity, rate in best.items() if rate < STRAGGLER * median}
    verdict = "info" if target().platform == "cpu" else "warn" if slow else "ok"
    what, hint = f"{name}, devices as fast as most", IDLE if verdict == "warn" else None
    yield Finding(code, what, verdict, f"{len(best) - len(slow)} of {len(best)}", hint=hint)
    for entity, rate in slow.items():
        actual = f"{plain(rate)} {unit}, {100 * rate / median:.0f} % of the median"
        yield Finding(code, what, verdict, actual, entity=entity, hint=hint)


def plain(rate):
    """Return a rate with three digits, as a whole number from 100 on."""
    return round(rate) if rate >= 100 else float(f"{rate:.3g}")
