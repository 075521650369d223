"""Measured figures as findings: the median of some repeats, then the best."""

import statistics

from tpustarter.checks.jax._rates import plain
from tpustarter.probe.finding import Finding


def figures(code, name, values, unit, *, best=min, hint=None):
    """Yield the median of some figures and the best of them, which is the `max` for rates."""
    middle, top = plain(statistics.median(values)), plain(best(values))
    yield Finding(code, name, "info", middle, unit=unit, hint=hint)
    yield Finding(f"{code}-BEST", f"{name}, best", "info", top, unit=unit)
