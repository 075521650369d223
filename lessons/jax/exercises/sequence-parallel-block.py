"""Write a block whose tokens are sharded between the matrices.

`block` runs on every device, within `jax.shard_map` over the axis
`model`. It gets its own tokens `x: float32[t / n, f]`, the whole vector
`scale: float32[f]`, its columns of `up` and its rows of `down`, and returns
its own tokens of `x + silu(norm(x, scale) @ up) @ down`. Use one all-gather
and one reduce-scatter, and no all-reduce.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

n = jax.device_count()
jax.set_mesh(jax.make_mesh((n,), ("model",)))


def norm(x, scale):
    """Return `x` with rows of equal size, times a learned vector."""
    mean = jnp.mean(x**2, axis=-1, keepdims=True)
    return scale * x * lax.rsqrt(mean + 1e-6)


def block(x, scale, up, down):
    """Return this device's tokens after the block."""
    hidden = jax.nn.silu(norm(x, scale) @ up)  # your code here
    return x + hidden @ down


# Judged below: leave this part as it is.


def reference(x, scale, up, down):
    """Return the same on one device."""
    return x + jax.nn.silu(norm(x, scale) @ up) @ down


def loss_of(function):
    """Return a function that computes the mean square of a result."""
    return lambda *arrays: jnp.mean(function(*arrays) ** 2)


rng = np.random.default_rng(0)
shapes = ((4 * n, 16), (16,), (16, 8 * n), (8 * n, 16))
numbers = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
specs = (jax.P("model", None), jax.P(), jax.P(None, "model"))
specs = (*specs, jax.P("model", None))
arrays = [jax.device_put(*pair) for pair in zip(numbers, specs, strict=True)]
on_mesh = jax.shard_map(block, out_specs=jax.P("model", None))
with jax.default_matmul_precision("highest"):
    program = jax.jit(on_mesh).lower(*arrays).compile()
    found = np.asarray(program(*arrays))
    grads = jax.jit(jax.grad(loss_of(on_mesh), argnums=1))(*arrays)
    with jax.set_mesh(jax.make_mesh((1,), ("one",))):
        expected = np.asarray(reference(*numbers))
        wanted = jax.grad(loss_of(reference), argnums=1)(*numbers)
off = np.abs(found - expected).max()
assert off < 1e-3, f"the result is off by {off:.3g}"
off = np.abs(np.asarray(grads) - np.asarray(wanted)).max()
assert off < 1e-3, f"the gradient of `scale` is off by {off:.3g}"
kinds = r" (all-gather|all-reduce|reduce-scatter)(?:-start)?\("
counted = sorted(re.findall(kinds, program.as_text()))
assert counted == ["all-gather", "reduce-scatter"], (
    f"the program has {counted}, expected an all-gather and a reduce-scatter"
)
print("one all-gather, one reduce-scatter, and the right gradient")
