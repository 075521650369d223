"""Loops in which all devices exchange a large array in each round, and the rows they must leave.

The rule to know: the array stays where it is and only its first rows change. Each round sends the
whole array, reads these rows from what arrived, adds one, and sends them in the next round. So no
round can be left out, merged with another or moved out of the loop, no copy of the whole array is
timed along, and the rows tell in the end how often the data really went round.

Seen in what jax 0.12.0.1 and libtpu 0.0.50.1 compile for TPUs: a sum of int32 never becomes a
`reduce-scatter`, so the numbers are whole and float32; and where each of four devices keeps one
block it becomes a padded one, so each keeps two.
"""

import jax
import jax.numpy as jnp
import numpy as np

WIDTH, HEAD = 128, 8
"""Numbers in a row, and rows that change: together one tile of a TPU's memory."""


def psum(x, _):
    """Return the sum of all devices' `x: float32[k, r, w]`."""
    return jax.lax.psum(x, "d")


def all_gather(x, _):
    """Return all devices' `x: float32[1, r, w]`, as `float32[d, r, w]`."""
    return jax.lax.all_gather(x, "d", tiled=True)


def psum_scatter(x, _):
    """Return this device's two blocks `float32[2, r, w]` of the sum of `x: float32[2 d, r, w]`."""
    return jax.lax.psum_scatter(x, "d", tiled=True)


def all_to_all(x, _):
    """Return the blocks of all devices' `x: float32[d, r, w]` that are for this one."""
    return jax.lax.all_to_all(x, "d", split_axis=0, concat_axis=0, tiled=True)


def ppermute(x, count):
    """Return the `x: float32[d, r, w]` of the previous device; the first gets the last's."""
    return jax.lax.ppermute(x, "d", [(i, (i + 1) % count) for i in range(count)])


def mean(head, count):
    """Return the mean of what `count` devices sent, from its sum."""
    return jnp.round(head / count)


def first_mean(head, count):
    """Return the mean of what was sent for this device's first block, from its blocks' sums."""
    return mean(head[:1], count)


def from_next(head, count):
    """Return the next device's value, from the values that all devices sent."""
    place = jax.lax.rem(jax.lax.axis_index("d") + 1, jnp.int32(count))
    return jax.lax.dynamic_index_in_dim(head, place, keepdims=True)


def as_sent(head, _):
    """Return the values that were sent to this device."""
    return head


MOVES = {
    "psum": (psum, mean),
    "all_gather": (all_gather, from_next),
    "psum_scatter": (psum_scatter, first_mean),
    "all_to_all": (all_to_all, as_sent),
    "ppermute": (ppermute, as_sent),
    "psum_small": (psum, mean),
}
"""The functions that move the array, and that get the next first rows from those that arrived."""


def shape(name, count, bytes_):
    """Return blocks and rows `(k, r)` of a device's part of an array; the small one is one tile."""
    if name == "psum_small":
        return 1, HEAD
    parts = 2 * count if name == "psum_scatter" else count
    rows = bytes_ // (parts * HEAD * WIDTH * 4) * HEAD
    return 1 if name == "all_gather" else parts, rows


def loop(name, count):
    """Return the loop of one collective over `count` devices, as `_timing.measure` takes it."""
    move, head = MOVES[name]

    def rounds(times, x):
        def one_round(_, x):
            arrived = jax.lax.optimization_barrier(move(x, count))
            return x.at[:, :HEAD].set(head(arrived[:, :HEAD], count) + 1)

        x = jax.lax.fori_loop(0, times[0], one_round, x)
        return x, x[:, :HEAD]

    return rounds


def firsts(count, blocks):
    """Return the first rows `float32[d, k, h, w]` that devices begin with.

    Multiples of `d * d` have whole means; float32 adds them up exactly for as many as 64 devices.
    """
    numbers = np.random.default_rng(0).integers(0, 16, (count, blocks, HEAD, WIDTH))
    return (numbers * count * count).astype(np.float32)


def placed(like, first):
    """Return an array like an abstract one, whose shards differ only in their first rows."""
    numbers = np.random.default_rng(1).integers(0, 4096, 2**20)
    shard = np.resize(numbers.astype(np.float32), first[0].shape[:1] + like.shape[1:])

    def own(index):
        block = shard.copy()
        block[:, :HEAD] = first[(index[0].start or 0) // len(shard)]
        return block

    return jax.make_array_from_callback(like.shape, like.sharding, own)


def lasts(name, first, rounds):
    """Return the first rows `float32[d, k, h, w]` after so many rounds, at least two."""
    if name == "psum_scatter":
        result = np.broadcast_to(first[:, ::2].mean((0, 1), np.float64), first.shape)
    elif name.startswith("psum"):
        result = np.broadcast_to(first.mean(0, np.float64), first.shape)
    elif name == "all_to_all":
        result = first.swapaxes(0, 1) if rounds % 2 else first
    else:
        result = np.roll(first, rounds if name == "ppermute" else -rounds, axis=0)
    return (result + rounds).astype(np.float32)


def difference(actual, expected):
    """Describe how the final rows of a device differ, or return an empty string."""
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}"
    off = actual - expected
    if len(np.unique(off)) == 1:
        return f"every number off by {off.flat[0]:g}" if off.any() else ""
    return f"{np.count_nonzero(off)} of {off.size} numbers wrong"
