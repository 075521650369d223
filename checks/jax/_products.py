"""Products of every shape on the device and in NumPy, and the bounds on their difference.

The rule to know: an element is a sum of products. Rounding each operand by at most `e` and adding
`n` terms in float32 puts it off by at most `(2 e + e**2 + n 2**-23) sum(|a| |b|)`, in any order
and however sums are rounded (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

ROUNDING = {"float32": 0, "TensorFloat-32": 2**-10, "one bfloat16 pass": 2**-8}
"""Largest relative error of an operand, by the arithmetic it goes through.

TPUs round to nearest even, 8 bits: https://docs.cloud.google.com/tpu/docs/bfloat16. How a GPU comes
to the 11 bits of TensorFloat-32 is not said, so numbers may be chopped there.
"""


class Product(NamedTuple):
    """One kind of product."""

    device: object
    """Function of two JAX arrays, on the device."""
    host: object
    """The same in NumPy."""
    x: tuple
    y: tuple
    """Shapes of the operands; no size is a multiple of a tile."""
    terms: int
    """Products that are added for one element."""


def convolve(x, y):
    """Return the product of images `x: [n, c, h, w]` and a `3 x 3` kernel, as large as `x`."""
    return jax.lax.conv_general_dilated(x, y, (1, 1), "SAME")


def convolve_strided(x, y):
    """Return the product of images and a `3 x 3` kernel at every second place, within `x`."""
    return jax.lax.conv_general_dilated(x, y, (2, 2), "VALID")


def convolve_depthwise(x, y):
    """Return the product of each channel with its own `3 x 3` kernel."""
    return jax.lax.conv_general_dilated(x, y, (1, 1), "SAME", feature_group_count=x.shape[1])


def windows(x):
    """Return every `3 x 3` part of images `[n, c, h, w]` as `[n, c, h - 2, w - 2, 3, 3]`."""
    return np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))


def same(x):
    """Return images padded with zeros, as by `SAME`."""
    return np.pad(x, np.array([[0, 0], [0, 0], [1, 1], [1, 1]]))


def sum_windows(x, y):
    """Return the result of `convolve`, by NumPy."""
    return np.einsum("nchwij,ocij->nohw", windows(same(x)), y)


def sum_strided(x, y):
    """Return the result of `convolve_strided`, by NumPy."""
    return np.einsum("nchwij,ocij->nohw", windows(x)[:, :, ::2, ::2], y)


def sum_depthwise(x, y):
    """Return the result of `convolve_depthwise`, by NumPy."""
    return np.einsum("nchwij,cij->nchw", windows(same(x)), y[:, 0])


def einsum(text):
    """Return an einsum in JAX and in NumPy."""
    return lambda x, y: jnp.einsum(text, x, y), lambda x, y: np.einsum(text, x, y)


PRODUCTS = {
    "vector vector": Product(jnp.dot, np.dot, (257,), (257,), 257),
    "matrix vector": Product(jnp.matmul, np.matmul, (129, 257), (257,), 257),
    "vector matrix": Product(jnp.matmul, np.matmul, (257,), (257, 129), 257),
    "outer": Product(jnp.outer, np.outer, (129,), (257,), 1),
    "one row, one column": Product(jnp.matmul, np.matmul, (1, 257), (257, 1), 257),
    "odd sizes": Product(jnp.matmul, np.matmul, (7, 129), (129, 3), 129),
    "no terms": Product(jnp.matmul, np.matmul, (3, 0), (0, 4), 0),
    "batched": Product(jnp.matmul, np.matmul, (3, 65, 33), (3, 33, 17), 33),
    "batched, broadcast": Product(jnp.matmul, np.matmul, (3, 1, 17, 33), (5, 33, 9), 33),
    "dot of three axes": Product(jnp.dot, np.dot, (3, 5, 33), (2, 33, 7), 33),
    "tensordot": Product(jnp.tensordot, np.tensordot, (5, 17, 9), (17, 9, 3), 153),
    "einsum, transposed": Product(*einsum("bij,bkj->bki"), (3, 9, 33), (3, 17, 33), 33),
    "einsum, all axes": Product(*einsum("ij,ij->"), (33, 17), (33, 17), 561),
    "convolution": Product(convolve, sum_windows, (2, 9, 13, 11), (7, 9, 3, 3), 81),
    "convolution, strided": Product(
        convolve_strided, sum_strided, (2, 9, 13, 11), (7, 9, 3, 3), 81
    ),
    "convolution, by channel": Product(
        convolve_depthwise, sum_depthwise, (2, 9, 13, 11), (9, 1, 3, 3), 9
    ),
}


def draw(make):
    """Return operands `float32` for every product, as one flat list, from a function of shapes."""
    return [
        make(shape).astype(np.float32)
        for product in PRODUCTS.values()
        for shape in (product.x, product.y)
    ]


def excess(actual, product, pair, rounding):
    """Return the largest error of an element divided by its bound; NaN if an element is NaN."""
    x, y = (operand.astype(np.float64) for operand in pair)
    exact, most = np.asarray(product.host(x, y)), np.asarray(product.host(np.abs(x), np.abs(y)))
    if actual.shape != exact.shape:
        return float("inf")
    limit = (2 * rounding + rounding**2 + product.terms * 2**-23) * most
    error = np.abs(np.asarray(actual, np.float64) - exact)
    tiny = np.finfo(np.float64).tiny  # of a sum without terms, whose error must be none
    return float((error / np.maximum(limit, tiny)).max(initial=0))
