"""Find the largest eigenvalue of a Hessian.

How sharply a loss curves decides how large a learning rate may be, and the
measure of it is the largest eigenvalue of the Hessian H. Power iteration
finds it. Start with a random vector v. Replace v by H v, divided by its norm,
many times. In the end v points along the sharpest direction, and the
eigenvalue is the dot product of v and H v. For 20,000 parameters H has 400
million entries, so never build it: multiply H by v as a derivative of the
gradient.
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
    return jax.hessian(loss)(params) @ v  # fits for few parameters only


def sharpness(loss, params, key):
    """Return float32[]: the largest eigenvalue of the Hessian."""
    v = jax.random.normal(key, params.shape)
    return jnp.vdot(v, hessian_times(loss, params, v))  # your code here


# Judged below: leave this part as it is.


def curved_loss(curvature):
    """Return a loss whose Hessian at 0 has `curvature` on its diagonal."""
    return lambda p: jnp.sum(curvature * p**2) / 2 + jnp.sum(p**4)


def largest_array(program):
    """Return how many numbers the largest array in a jaxpr has."""
    shapes = re.findall(r"f32\[([\d,]+)\]", program)
    return max(math.prod(map(int, shape.split(","))) for shape in shapes)


key = jax.random.key(0)
for n, top in ((5, 3.0), (20_000, 7.0)):
    curvature = jnp.linspace(0.0, 1.0, n).at[n // 2].set(top)
    loss = curved_loss(curvature)
    zeros = jnp.zeros(n)
    sharpness_at = functools.partial(sharpness, loss)
    traced = jax.make_jaxpr(sharpness_at)(zeros, key)
    most = largest_array(str(traced))
    message = f"{n} parameters: an array of {most:,} numbers was traced, "
    message += f"expected {2 * n:,} at most"
    assert n < 100 or most <= 2 * n, message
    found = float(jax.jit(sharpness_at)(zeros, key))
    message = f"{n} parameters: found {found:.3f}, expected {top:.3f}"
    assert abs(found - top) < 0.01, message
print("the sharpest direction of 20000 found, without the Hessian")
