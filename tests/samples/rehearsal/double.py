"""Least squares by conjugate gradients, in float64 and in float32.

The method is that of Hestenes and Stiefel 1952 (https://doi.org/10.6028/jres.049.044).
JAX keeps float64 only where it is told to:
https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#double-64bit-precision

Found: no TPU has float64, so the compiler makes each product of many others. `solve` asks for
12 GiB beside its matrix of 1 GiB, and in float32 for less than 1 MiB (tpu7x: 256 MiB); `multiply`
for 2.25 GiB instead of nothing. v2-8 cannot hold `solve` at all.
"""

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

ROWS, COLUMNS = 32768, 4096


def solve(a, b):
    """Return x that makes a @ x nearest to b, after 20 steps."""

    def step(_, state):
        x, rest, way, size = state
        image = a.T @ (a @ way)
        length = size / (way @ image)
        rest = rest - length * image
        smaller = rest @ rest
        return x + length * way, rest, rest + (smaller / size) * way, smaller

    rest = a.T @ b
    start = (jnp.zeros_like(rest), rest, rest, rest @ rest)
    return jax.lax.fori_loop(0, 20, step, start)[0]


def multiply(a, b):
    return a @ b


def programs(devices):
    for kind in ("float64", "float32"):
        a = jax.ShapeDtypeStruct((ROWS, COLUMNS), kind)
        yield f"solve {kind}", solve, (a, jax.ShapeDtypeStruct((ROWS,), kind))
        square = jax.ShapeDtypeStruct((COLUMNS, COLUMNS), kind)
        yield f"multiply {kind}", multiply, (square, square)
