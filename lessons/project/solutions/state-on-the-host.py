"""A sharding has the method `with_memory_kind`. For which parts of the tree do
you call it?

The tree is a dictionary with the keys `params`, `mean` and `square`. Map
over the last two with `jax.tree.map`, and call the method with
`"pinned_host"`.

The step computes on the device, so bring the averages there first:
`jax.device_put(state["mean"], shardings["mean"])`, and `square` likewise.

The way back is `out_shardings`. Give it what `offload` returns.

Learned: The memory of an array is a part of its sharding, so offload is a
device_put at the beginning of a step and an output sharding at its end.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

AVERAGES = ("mean", "square")


def offload(shardings):
    """Return the shardings of a state whose averages are on the host."""
    on_host = {
        name: jax.tree.map(
            lambda one: one.with_memory_kind("pinned_host"), shardings[name]
        )
        for name in AVERAGES
    }
    return shardings | on_host


def make_step(shardings):
    """Return a step whose state is on the host in part."""
    on_host = offload(shardings)

    @partial(jax.jit, out_shardings=on_host, donate_argnums=0)
    def step(state, gradient):
        mean, square = (
            jax.device_put(state[name], shardings[name]) for name in AVERAGES
        )
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(
            lambda s, g: 0.99 * s + 0.01 * g**2, square, gradient
        )
        params = jax.tree.map(
            lambda p, m, s: p - 0.01 * m / (jnp.sqrt(s) + 1e-6),
            state["params"],
            mean,
            square,
        )
        return {"params": params, "mean": mean, "square": square}

    return step
