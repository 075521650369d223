"""The gradient is a function of the parameters. What is the derivative of that
function in the direction v?

It is the Hessian times v. `jax.jvp(jax.grad(loss), (params,), (v,))` returns
the gradient and this product.

Then iterate: `v = product / jnp.linalg.norm(product)`, `STEPS` times, in
`jax.lax.fori_loop` so that the program stays small. Normalise the first v,
too, and end with `jnp.vdot(v, hessian_times(loss, params, v))`.

Learned: `jvp` of `grad` multiplies the Hessian by a vector for about the price
of two gradients, so the Hessian itself is never needed.
"""

import functools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np

STEPS = 100


def hessian_times(loss, params, v):
    """Return float32[n]: the Hessian of `loss` at `params`, times `v`."""
    _, product = jax.jvp(jax.grad(loss), (params,), (v,))
    return product


def sharpness(loss, params, key):
    """Return float32[]: the largest eigenvalue of the Hessian."""

    def iterate(_, v):
        product = hessian_times(loss, params, v)
        return product / jnp.linalg.norm(product)

    v = jax.random.normal(key, params.shape)
    v = jax.lax.fori_loop(0, STEPS, iterate, v / jnp.linalg.norm(v))
    return jnp.vdot(v, hessian_times(loss, params, v))
