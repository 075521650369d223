"""Links of all hosts stay exact under load."""

import jax

from tpustarter.checks.jax import (
    _bus,
    _links,
    _slice_links,
    _slice_rates,
    _slices,
    _slowest,
    _torus,
)
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {"hosts": 2}
TIMEOUT_S = 600
ESTIMATE_S = 5
LESSON = "slices/torus-and-hops"
SOURCE = "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"
AFTER = ["jax.slice_program"]

MIB = {"cpu": 1 / 16}
"""Size of the array that a device sends, by platform; elsewhere 32."""
MOST = 64
"""Links that are measured one by one; those between hosts come first."""


def links(grid):
    """Return the links to measure, those between hosts first."""
    devices = list(grid.flat)
    pairs = _torus.links(devices)
    return sorted(pairs, key=lambda pair: same_host(pair, devices))[:MOST], len(pairs)


def same_host(pair, devices):
    """Return whether both ends of a link are on the same host."""
    return len({devices[end].process_index for end in pair}) == 1


def programs(devices):
    """Yield the loops within hosts, between them and over single links, large and small."""
    rows = int(MIB.get(devices[0].platform, 32) * 2**20) // (4 * _links.WIDTH)
    grid = _slices.grid(devices)
    yield from _slice_links.programs(grid, links(grid)[0], rows)


@with_defaults
def run():
    """Measure sums along both axes, then each link, and name the slowest link and host."""
    grid = _slices.grid(jax.devices())
    counts, figures = dict(zip(_slice_links.AXES, grid.shape, strict=True)), []
    pairs, known = links(grid)
    yield _bus.links(grid.flat[0], "SLICE-RATE-LINKS")
    for program in programs(list(grid.flat)):
        name, _, (_, x, *_) = program
        if name.startswith("link"):
            found, lost = _slice_rates.over_links(program, grid, pairs)
            figures.append(found)
        else:
            seconds, lost = _slice_rates.measured(program, grid)
            yield from _slice_rates.along_axis(name, x, counts[name.partition("_")[0]], seconds)
        code, what = name.upper().replace("_", "-"), name.replace("_", " ")
        yield from tally(
            f"SLICE-RATE-{code}-EXACT", f"devices correct after every round: {what}", lost
        )
    if figures:
        yield from _slowest.links(*figures, pairs, list(grid.flat))
    left = known - len(pairs)
    yield Finding("SLICE-LINK-LEFT", "links not measured", "info", left or "none")
