"""Count the bytes of a training state before you rent a TPU.

`init_params(key)` makes the parameters of a model, and `init_optimizer` of
these parameters makes the optimizer state. Both are pytrees of arrays, with
different dtypes. Return how many bytes they take together. The model is far
too large for this machine, so no array of it may be made: if `init_params`
really runs, the judge stops it.
"""

import jax
import jax.numpy as jnp


def state_bytes(init_params, init_optimizer, key):
    """Return the bytes of the parameters and the optimizer state."""
    params = init_params(key)  # your code here, and below
    return sum(leaf.nbytes for leaf in jax.tree.leaves(params))


# Judged below: leave this part as it is.


class TooLargeError(Exception):
    """The model would have been made."""


def model(layers, width, vocabulary, dtype):
    """Return a function that makes the parameters of a model."""

    def init_params(key):
        if not isinstance(key, jax.core.Tracer):
            raise TooLargeError
        normal = jax.random.normal
        return {
            "embedding": normal(key, (vocabulary, width), dtype),
            "layers": [
                {
                    "attention": normal(key, (4, width, width), dtype),
                    "mlp": normal(key, (2, width, 4 * width), dtype),
                    "scale": jnp.ones(width, jnp.float32),
                }
                for _ in range(layers)
            ],
        }

    return init_params


def adam(params):
    """Return two float32 moments for each parameter, and a counter."""

    def zeros(leaf):
        return jnp.zeros(leaf.shape, jnp.float32)

    moments = {
        "mean": jax.tree.map(zeros, params),
        "square": jax.tree.map(zeros, params),
    }
    return {**moments, "count": jnp.zeros((), jnp.int32)}


def momentum(params):
    """Return a velocity for each parameter, in its dtype."""
    return jax.tree.map(jnp.zeros_like, params)


def expected_bytes(layers, width, vocabulary, item, optimizer):
    """Return the bytes by counting them."""
    large = vocabulary * width + layers * 12 * width**2
    small = layers * width
    params = item * large + 4 * small
    if optimizer is adam:
        return params + 8 * (large + small) + 4
    return 2 * params


cases = [
    ("0.4 billion in float32, Adam", (24, 1024, 50257), "float32", adam),
    ("7 billion in float32, Adam", (32, 4096, 50257), "float32", adam),
    ("7 billion in bfloat16, Adam", (32, 4096, 50257), "bfloat16", adam),
    (
        "70 billion in bfloat16, momentum",
        (80, 8192, 128256),
        "bfloat16",
        momentum,
    ),
]
for name, sizes, dtype, optimizer in cases:
    key = jax.random.key(0)
    found = None
    try:
        found = state_bytes(model(*sizes, dtype), optimizer, key)
    except TooLargeError:
        reason = "`init_params` ran and would have made the arrays"
    assert found is not None, f"{name}: {reason}, expected shapes alone"
    item = jnp.dtype(dtype).itemsize
    expected = expected_bytes(*sizes, item, optimizer)
    message = f"{name}: found {found / 1e9:.2f} GB"
    assert found == expected, f"{message}, expected {expected / 1e9:.2f} GB"
    print(f"{name}: {found / 1e9:.1f} GB")
