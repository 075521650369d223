"""Collectives along both axes of a mesh whose rows are hosts, or slices.

The rule to know: data of one axis stay within a row, data of the other cross from row to row.
Results that are exact within rows and wrong between them mean a fault between the rows.
"""

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _slices
from tpustarter.checks.jax._tally import tally

AXES = ("between", "within")


def total(x, axis):
    """Return the sum of `x: int32[1, 1, w]` along one axis."""
    return jax.lax.psum(x, axis)


def gathered(x, axis):
    """Return the blocks `x: int32[1, 1, w]` along one axis, as `int32[1, 1, k, w]`."""
    return jax.lax.all_gather(x, axis, axis=2)


def passed_on(x, axis, count):
    """Return the `x: int32[1, 1, w]` of the previous device along an axis."""
    return jax.lax.ppermute(x, axis, [(place, (place + 1) % count) for place in range(count)])


def programs(grid):
    """Yield one program for both axes of a grid of devices `[h, l]`: `x: int32[h, l, w]`."""
    mesh, counts = Mesh(grid, AXES), dict(zip(AXES, grid.shape, strict=True))

    def along_both(x):
        return [
            (total(x, axis), gathered(x, axis), passed_on(x, axis, count))
            for axis, count in counts.items()
        ]

    function = jax.shard_map(along_both, mesh=mesh, in_specs=P(*AXES), out_specs=P(*AXES))
    x = _collectives.argument(mesh, P(*AXES), *grid.shape, _collectives.WIDTH)
    yield "along_both", function, (x,)


def expected(numbers, axis):
    """Return sum, blocks and the previous block along an axis, each `int32[d, k, w]`."""
    place = AXES.index(axis)
    sums = numbers.sum(place, keepdims=True, dtype=np.int32)[:, :, None]
    blocks = numbers[:, None] if place else numbers.swapaxes(0, 1)[None]
    before = np.roll(numbers, 1, axis=place)[:, :, None]
    whole = [
        np.broadcast_to(array, (*numbers.shape[:2], *array.shape[2:]))
        for array in (sums, blocks, before)
    ]
    return [array.reshape(-1, *array.shape[2:]) for array in whole]


def findings(prefix, grid, program, rows):
    """Yield the number of exact devices of this host for each collective along each axis.

    `rows` is the word for a row of the grid: hosts, or slices.
    """
    numbers, devices = _collectives.blocks(*grid.shape), list(grid.flat)
    flat = numbers.reshape(len(devices), -1)
    named = _collectives.owners(flat, devices)
    outputs = _slices.execute(program, numbers)
    for axis, results in zip(AXES, outputs, strict=True):
        names = zip(("SUM", "GATHER", "PERMUTE"), results, expected(numbers, axis), strict=True)
        for code, output, right in names:
            lost = _slices.wrong(output, right, named, devices)
            name = f"devices exact {axis} {rows} ({code.lower()})"
            yield from tally(f"{prefix}-{axis.upper()}-{code}", name, lost)
