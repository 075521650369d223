"""Loops over devices of several hosts, whose final rows prove that the data went around.

The rule to know: as in `_links`, only the first rows change, so that no round is left out. All
hosts must make the same number of rounds, which the slowest host decides (`agreed`).
"""

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _hosts, _links

AXES = ("between", "within")
ROWS = P(AXES)


def agreed(seconds):
    """Return the most seconds that a run took on any host."""
    return max(float(text) for text in _hosts.exchange("seconds", repr(seconds)) if text)


def sum_loop(axis, count):
    """Return the loop that adds up `x: float32[1, r, w]` along an axis of so many devices."""

    def rounds(times, x):
        def one_round(_, x):
            arrived = jax.lax.optimization_barrier(jax.lax.psum(x, axis))
            head = _links.mean(arrived[:, : _links.HEAD], count) + 1
            return x.at[:, : _links.HEAD].set(head)

        x = jax.lax.fori_loop(0, times[0], one_round, x)
        return x, x[:, : _links.HEAD]

    return rounds


def swap(x, pair):
    """Return the `x` of the other device of a pair; zeros on all others."""
    return jax.lax.ppermute(x, AXES, [pair, pair[::-1]])


def link_loop(pairs):
    """Return the loop in which the two devices of pair `which[0]` swap their arrays."""
    moves = [lambda x, pair=pair: swap(x, pair) for pair in pairs]

    def rounds(times, x, which):
        def one_round(_, x):
            arrived = jax.lax.optimization_barrier(jax.lax.switch(which[0], moves, x))
            return x.at[:, : _links.HEAD].set(arrived[:, : _links.HEAD] + 1)

        x = jax.lax.fori_loop(0, times[0], one_round, x)
        return x, x[:, : _links.HEAD]

    return rounds


def program(name, loop, grid, rows, *others):
    """Return a loop over a grid of devices as a program, with its arguments.

    `times: int32[d]`, `x: float32[d, rows, w]`, and `others: int32[1]`, which are the same on all.
    """
    mesh, count = Mesh(grid, AXES), grid.size
    loop.__name__ = name
    specs = (ROWS, ROWS, *(P() for _ in others))
    mapped = jax.shard_map(loop, mesh=mesh, in_specs=specs, out_specs=ROWS)
    x = _collectives.argument(mesh, ROWS, count, rows, _links.WIDTH, dtype=np.float32)
    times = _collectives.argument(mesh, ROWS, count)
    return name, mapped, (times, x, *(_collectives.argument(mesh, P(), 1) for _ in others))


def programs(grid, pairs, rows):
    """Yield the loops along both axes and over single links, with large arrays and small ones."""
    counts = dict(zip(AXES, grid.shape, strict=True))
    for size, many in (("", rows), ("_small", _links.HEAD)):
        for axis, count in counts.items():
            if count == 1:
                continue
            yield program(f"{axis}{size}", sum_loop(axis, count), grid, many)
        if pairs:
            yield program(f"link{size}", link_loop(pairs), grid, many, "which")


def firsts(grid):
    """Return the first rows `float32[d, h, w]` that the devices of a grid begin with."""
    return _links.firsts(grid.size, 1)[:, 0]


def lasts(name, grid, first, rounds, pair):
    """Return the first rows `float32[d, h, w]` after so many rounds."""
    if name.startswith("link"):
        one, other = pair
        last = np.ones_like(first)  # a device outside the pair gets zeros, and adds one
        last[[one, other]] = first[[other, one] if rounds % 2 else [one, other]] + rounds
        return last.astype(np.float32)
    apart = first.reshape(*grid.shape, *first.shape[1:])
    mean = apart.mean(AXES.index(name.partition("_")[0]), np.float64, keepdims=True)
    return (np.broadcast_to(mean, apart.shape) + rounds).reshape(first.shape).astype(np.float32)


def placed(like, first):
    """Return an array like an abstract one, whose first rows on each device are given."""
    rest = np.resize(np.arange(4096, dtype=np.float32), like.shape[1:])

    def own(index):
        block = rest.copy()[None]
        block[0, : _links.HEAD] = first[index[0].start or 0]
        return block

    return jax.make_array_from_callback(like.shape, like.sharding, own)
