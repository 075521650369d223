"""An emulation on a CPU of a float32 product in a TPU's matrix unit (MXU).

The rule to know: an MXU multiplies bfloat16 numbers and adds in float32. Three and six passes split
each operand into two and three bfloat16 parts and add the products of the larger ones. Rounding is
done with `reduce_precision`, because XLA may leave out a conversion to bfloat16 and back.
Source: https://docs.jax.dev/en/latest/201/precision.html
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

Round = Callable[[jax.Array], jax.Array]

PRODUCTS = {1: ((0, 0),), 3: ((0, 1), (1, 0), (0, 0))}
PRODUCTS[6] = ((1, 1), (0, 2), (2, 0), *PRODUCTS[3])
"""Which parts of the left and the right operand are multiplied in each pass, smallest first."""


def bfloat16(x: jax.Array) -> jax.Array:
    """Round `x: float32[...]` to the nearest number that bfloat16 holds, ties to even."""
    return jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)


def chopped(x: jax.Array) -> jax.Array:
    """Cut `x: float32[...]` to the bits that bfloat16 holds."""
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32) & jnp.uint32(0xFFFF0000)
    return jax.lax.bitcast_convert_type(bits, jnp.float32)


def split(x: jax.Array, count: int, rounding: Round = bfloat16) -> list[jax.Array]:
    """Return `count` bfloat16 parts of `x: float32[...]`, largest first; they add up to `x`."""
    parts = []
    for _ in range(count):
        parts.append(rounding(x))
        x = x - parts[-1]
    return parts


def passes(count: int, rounding: Round = bfloat16) -> Callable[[jax.Array, jax.Array], jax.Array]:
    """Return the product of two matrices `float32[n, n]` in 1, 3 or 6 passes."""

    def multiply(x: jax.Array, y: jax.Array) -> jax.Array:
        parts = 1 + max(lhs for lhs, _ in PRODUCTS[count])
        lefts, rights = split(x, parts, rounding), split(y, parts, rounding)
        return sum(_exactly(lefts[i], rights[j]) for i, j in PRODUCTS[count])  # type: ignore[return-value]

    return multiply


def tensor_float_32(x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the product of two matrices `float32[n, n]` as an NVIDIA GPU makes it by default."""
    x, y = (
        jax.lax.reduce_precision(operand, exponent_bits=8, mantissa_bits=10) for operand in (x, y)
    )
    return _exactly(x, y)


def _exactly(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.matmul(x, y, precision="highest")
