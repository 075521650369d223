"""Rates and latencies of sums along axes of a slice, and of its single links.

The rule to know: each host times the links of its own devices, as it does not notice when those of
others are done. The hosts then exchange the figures, so that each has them all.
"""

import json
import statistics

import jax
import numpy as np

from tpustarter.checks.jax import _bus, _collectives, _hosts, _links, _slice_links, _slices, _timing
from tpustarter.checks.jax._figures import figures
from tpustarter.checks.jax._shares import label


def measured(program, grid, pair=(0, 0), which=0):
    """Return the seconds of a round, and the errors in the last rows of this host's devices."""
    name, loop, (times, x, *others) = program
    devices, first = list(grid.flat), _slice_links.firsts(grid)
    given = [_slices.placed(np.array([which], np.int32), other) for other in others]
    timing = _timing.measure(
        loop,
        (times, _slice_links.placed(x, first), *given),
        platform=devices[0].platform,
        alone=False,
        agree=_slice_links.agreed,
    )
    mine, expected = (
        _slices.own(devices),
        _slice_links.lasts(name, grid, first, timing.rounds, pair),
    )
    rows = _collectives.shard_rows(timing.sample, mine)
    lost = {
        label(device): _links.difference(row, expected[devices.index(device)])
        for device, row in zip(mine, rows, strict=True)
    }
    return timing.together, lost


def along_axis(name, x, count, seconds):
    """Yield the rate of a sum along an axis, or the latency of a small one."""
    axis, _, small = name.partition("_")
    if small:
        values = [one * 1e6 for one in seconds]
        what = f"latency of a 4 KiB psum {axis} hosts"
        yield from figures(f"SLICE-RATE-{axis.upper()}-LATENCY", what, values, "us")
        return
    size = x.size * x.dtype.itemsize / x.shape[0] * _bus.factor("psum", count)
    values = [size / one / 1e9 for one in seconds]
    what = f"bus bandwidth of a psum {axis} hosts"
    yield from figures(f"SLICE-RATE-{axis.upper()}", what, values, "GB/s", best=max)


def over_links(program, grid, pairs):
    """Return the rate of each link by its place, and the errors in each device's last rows.

    It is GB/s in one direction while both are in use, or microseconds of a small array's round.
    """
    name, _, (_, x, *_) = program
    devices, own, lost = list(grid.flat), {}, {}
    for which, pair in enumerate(pairs):
        seconds, wrong = measured(program, grid, pair, which)
        lost |= {device: lost.get(device) or text for device, text in wrong.items()}
        usual = statistics.median(seconds)
        if devices[pair[0]].process_index == jax.process_index():
            size = x.size * x.dtype.itemsize / x.shape[0]
            own[which] = usual * 1e6 if name.endswith("small") else size / usual / 1e9
    texts = _hosts.exchange(name, json.dumps(own))
    rows = [json.loads(text) for text in texts if text]
    return {int(place): value for row in rows for place, value in row.items()}, lost
