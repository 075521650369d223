"""Round stochastically to bfloat16.

A weight of 1.0 in bfloat16 ignores an update of 0.001, because the next
bfloat16 is 1.0078, and rounding goes to the nearest. Stochastic rounding
keeps such updates on average. Between two neighbouring bfloat16 numbers, it
goes up with a probability equal to the distance that is already covered:
1.001 becomes 1.0078 in 13 % of all cases and 1.0 otherwise.

Write `round_stochastically`. A bfloat16 is the upper half of the 32 bits of
a float32, so it helps to look at the bits: `jax.lax.bitcast_convert_type`
shows a float32 as `uint32` and back, and `jax.random.bits` draws bits. A
number that is a bfloat16 already must stay as it is.
"""

import jax
import jax.numpy as jnp
import numpy as np


def round_stochastically(key, x):
    """Return bfloat16[...] from `x: float32[...]`, rounded up or down."""
    return x.astype(jnp.bfloat16)  # your code here


# Judged below: leave this part as it is.

x = jnp.array([1.001, -1.001, 0.3744, 3e-20, -12345.678, 0.0], "float32")
toward_zero = np.asarray(x).view(np.uint32) & 0xFFFF0000
lower = toward_zero.view(np.float32)
upper = (toward_zero + 0x10000).view(np.float32)

first = round_stochastically(jax.random.key(0), x)
assert first.dtype == jnp.bfloat16, f"found {first.dtype}, expected bfloat16"
assert first.shape == x.shape, f"found {first.shape}, expected {x.shape}"

keys = jax.random.split(jax.random.key(1), 4096)
many = jax.vmap(round_stochastically, in_axes=(0, None))(keys, x)
many = np.asarray(many, np.float64)
for column, value in enumerate(np.asarray(x)):
    found = many[:, column]
    neighbours = [float(lower[column]), float(upper[column])]
    strangers = found[~np.isin(found, neighbours)]
    assert len(strangers) == 0, (
        f"{value:.6g} became {strangers[0]:.6g}, expected one of {neighbours}"
    )
    gap = abs(neighbours[1] - neighbours[0])
    off = abs(found.mean() - float(value)) / gap
    assert off < 0.04, (
        f"{value:.6g} became {found.mean():.6g} on average over 4096 keys, "
        f"which is off by {off:.2f} of the gap between its neighbours"
    )

exact = jnp.array([1.0, -2.5, 256.0, 0.0, jnp.inf], "float32")
kept = np.asarray(round_stochastically(jax.random.key(2), exact), np.float32)
message = f"found {kept.tolist()}, expected {exact.tolist()}: all are bfloat16"
assert np.array_equal(kept, exact), message


@jax.jit
def train(weight, key):
    """Add 0.001 a thousand times to a bfloat16 weight."""

    def step(weight, key):
        return round_stochastically(key, weight + jnp.float32(0.001)), None

    return jax.lax.scan(step, weight, jax.random.split(key, 1000))[0]


weights = train(jnp.ones(256, jnp.bfloat16), jax.random.key(3))
mean = float(np.asarray(weights, np.float64).mean())
message = f"after 1000 updates of 0.001 the mean weight is {mean:.3f}"
assert abs(mean - 2.0) < 0.03, f"{message}, expected about 2.0"
print(f"{message}; rounding to nearest leaves it at 1.000")
