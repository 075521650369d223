"""Find the three lines that use something which is not an argument. Which
argument takes the place of each?

`SETTINGS["scale"]` becomes `scale`. The noise becomes
`jax.random.normal(key, params.shape)`, which is a function of the key alone.

What was appended to a list is returned instead, as `{"norm": norm}`. The
caller may append it, outside of `jit`.

Learned: A pure function takes its settings and its key as arguments and
returns its metrics, so `jit` has nothing to freeze.
"""

import jax
import jax.numpy as jnp
import numpy as np

SETTINGS = {"scale": 0.5}
HISTORY = []


def step(params, scale, key):
    """Return (new params: float32[n], {"norm": float32[]}) after a step."""
    noise = jax.random.normal(key, params.shape)
    update = scale * params + noise
    norm = jnp.linalg.norm(update)
    return params - update, {"norm": norm}
