"""One training step of a small network, as a program that no cache can have.

The rule to know: the program contains a number and returns it. With a new number it is another
program, so a program compiled before, here or in an earlier process, returns a different number.
"""

import functools
import time

import jax
import jax.numpy as jnp

SHAPES = {"w": (256, 512), "v": (512, 16), "x": (64, 256), "y": (64, 16)}
"""Weights of both layers, inputs, and the outputs to learn: float32."""


def loss(w, v, x, y):
    """Return the mean square error of two layers, a scalar."""
    return jnp.mean((jax.nn.relu(x @ w) @ v - y) ** 2)


def step(number):
    """Return the program: loss, new weights, and the number it was written with."""

    def train_step(w, v, x, y, zero):
        value, (to_w, to_v) = jax.value_and_grad(loss, argnums=(0, 1))(w, v, x, y)
        return value, w - 0.1 * to_w, v - 0.1 * to_v, number + zero

    return train_step


def call_twice(function, arguments):
    """Return a program's number, the seconds of its traces, and those of its first two calls."""
    traces, calls, number = [], [], 0

    @functools.wraps(function)
    def watched(*arguments):
        began = time.perf_counter()
        results = function(*arguments)
        traces.append(time.perf_counter() - began)
        return results

    program = jax.jit(watched)
    for _ in range(2):
        began = time.perf_counter()
        *_, number = jax.block_until_ready(program(*arguments))
        calls.append(time.perf_counter() - began)
    return int(number), traces, calls
