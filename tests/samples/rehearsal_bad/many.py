"""Programs that cannot be lowered, one reason each, between two that can."""

import sys
from functools import partial

import jax
import jax.numpy as jnp

X = jax.ShapeDtypeStruct((8, 128), "float32")


def fine(x):
    return x + 1


def raises(x):
    raise ValueError("no \x1b[31mluck[bold]\nat all")


def needs_values(x):
    return x if x.sum() > 0 else -x


def needs_another_shape(x):
    return x @ x


def calls_back(x):
    jax.debug.print("{}", x)
    return x


def reads(x):
    return x + len(input())


def prints(x):
    print("y" * 10_000_000)
    return x


def has_no_rule(x):
    return jnp.linalg.eig(x[:, :8])


def names_are_hostile(x):
    return x


@partial(jax.jit, static_argnames="times")
def static(x, times):
    return x * times


@partial(jax.jit, donate_argnums=0)
def donated(x):
    return x + 1


def tree(weights, x):
    return x @ weights["w"][0] + weights["b"]


class Model:
    def step(self, x):
        return x * 2


def programs(devices):
    yield "fine", fine, (X,)
    for function in (raises, needs_values, needs_another_shape, calls_back, reads, prints):
        yield function.__name__, function, (X,)
    yield "has_no_rule", has_no_rule, (X,)
    yield "name \x1b[31m[bold]\nof two lines", names_are_hostile, (X,)
    yield "static", partial(static, times=3), (X,)
    yield "donated", donated, (X,)
    yield "tree", tree, ({"w": [jnp.ones((128, 4))], "b": jnp.ones(4)}, X)
    yield "method", Model().step, (X,)
    yield "argument is no tuple", fine, X
    yield "no function", 3, (X,)
    yield "last", fine, (X,)
