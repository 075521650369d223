"""A script with a library beside it; it asks where it runs, and traces instead of calling."""

import jax
import jax.numpy as jnp

FAST = jax.default_backend() == "tpu"


@jax.jit
def traced(x):
    return x @ x


@jax.jit
def never(x):
    return x


@jax.jit
def asks(x):
    return x @ x if jax.default_backend() == "tpu" else x - 1


def again(x):
    return x * 2


def first():
    def again(x):
        return x * 3

    return jax.jit(again)


x = jnp.ones((8, 8))
traced.trace(x).lower().compile()
assert (asks(x) == 0).all(), "on the CPU it takes the CPU's side"
jax.jit(again)(x)
first()(x)
