"""A script that does what scripts do, and ends with code 4."""

import sys
from functools import partial

import jax
import jax.numpy as jnp


@jax.jit
def step(x):
    return inner(x) @ x


@jax.jit
def inner(x):
    return x + 1


@partial(jax.jit, static_argnums=1)
def scaled(x, times):
    return x * times


@partial(jax.jit, static_argnames="times")
def named(x, times=2):
    return x * times


@partial(jax.jit, donate_argnums=0)
def donated(x):
    return x + 1


@jax.jit
def tree(weights, x):
    return weights["w"] + x


@jax.jit
def calls_back(x):
    jax.debug.print("seen {}", x.shape)
    return x


@jax.jit
def has_no_rule(x):
    return jnp.linalg.eig(x)[0]


class Model:
    @partial(jax.jit, static_argnums=0)
    def method(self, x):
        return x + 1


def main():
    x = jnp.ones((8, 8))
    for size in range(1, 6):
        step(jnp.ones((size, size)))
    step(jnp.ones((1, 1)))
    for times in (2, 3, 2):
        scaled(x, times)
    named(x)
    named(x, times=3)
    tree({"w": x}, x)
    calls_back(x)
    has_no_rule(x)
    model = Model()
    model.method(x)
    model.method(x)
    donated(x)
    for _ in range(4):
        jax.jit(lambda x: x + 2)(jnp.ones(3))
    print("arguments", sys.argv[1:], "devices", len(jax.devices()), "as", __name__)
    print("to stderr \x1b[31m", file=sys.stderr)
    assert jax.jit(step).lower(jnp.ones((2, 2))).compile() is not None
    sys.exit(4)


main()
