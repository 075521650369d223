"""Every way to request a matmul precision, and what a traced program requests.

The rule to know: a way is judged twice. The traced program shows on any platform what it requests.
What the device did is visible only where the arithmetic differs, which on a CPU it does not.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import DotAlgorithmPreset, Precision

from tpustarter.checks.jax import _precision

LEVELS = ("DEFAULT", "HIGH", "HIGHEST")
"""Names of the levels, in the order of `_precision.DOCUMENTED`."""

PRESETS = {"BF16_BF16_F32": "DEFAULT", "BF16_BF16_F32_X3": "HIGH", "BF16_BF16_F32_X6": "HIGHEST"}
"""Presets that both CPUs and TPUs take, and the level that is the same number of passes."""


class Way(NamedTuple):
    """One way to request a precision."""

    multiply: object
    """Function that returns `x @ y` for `x, y: float32[512, 512]`."""
    asks: str
    """One of `LEVELS` or `PRESETS`."""


def call(precision):
    """Return a product that names its precision in the call."""
    return lambda x, y: jnp.matmul(x, y, precision=precision)


def context(precision):
    """Return a product that takes its precision from the context manager around it."""

    def multiply(x, y):
        with jax.default_matmul_precision(precision):
            return jnp.matmul(x, y)

    return multiply


def call_in_context(x, y):
    """Return a product whose own precision differs from its context's."""
    with jax.default_matmul_precision("highest"):
        return jnp.matmul(x, y, precision="default")


def context_in_context(x, y):
    """Return a product in the inner of two contexts."""
    with jax.default_matmul_precision("default"), jax.default_matmul_precision("highest"):
        return jnp.matmul(x, y)


def einsum(x, y):
    """Return `x @ y` as an einsum that names its precision."""
    return jnp.einsum("ij,jk->ik", x, y, precision="highest")


def convolve(x, y, precision=None):
    """Return `x @ y` as a convolution of 512 channels with windows of one place."""
    product = jax.lax.conv_general_dilated(
        x[:, :, None], y.T[:, :, None], (1,), "VALID", precision=precision
    )
    return product[:, :, 0]


def convolve_in_context(x, y):
    """Return `x @ y` as a convolution that takes its precision from the context."""
    with jax.default_matmul_precision("highest"):
        return convolve(x, y)


WAYS = {
    "precision='default'": Way(call("default"), "DEFAULT"),
    "precision='high'": Way(call("high"), "HIGH"),
    "precision='highest'": Way(call("highest"), "HIGHEST"),
    "precision='float32'": Way(call("float32"), "HIGHEST"),
    "precision=Precision.HIGHEST": Way(call(Precision.HIGHEST), "HIGHEST"),
    "einsum(precision='highest')": Way(einsum, "HIGHEST"),
    "conv(precision='highest')": Way(lambda x, y: convolve(x, y, "highest"), "HIGHEST"),
    "context 'high'": Way(context("high"), "HIGH"),
    "context 'highest'": Way(context("highest"), "HIGHEST"),
    "context 'highest' round a conv": Way(convolve_in_context, "HIGHEST"),
    "call inside a context": Way(call_in_context, "DEFAULT"),
    "context inside a context": Way(context_in_context, "HIGHEST"),
    "context 'BF16_BF16_F32_X3'": Way(context("BF16_BF16_F32_X3"), "BF16_BF16_F32_X3"),
    "preset BF16_BF16_F32": Way(call("BF16_BF16_F32"), "BF16_BF16_F32"),
    "preset BF16_BF16_F32_X3": Way(call(DotAlgorithmPreset.BF16_BF16_F32_X3), "BF16_BF16_F32_X3"),
    "preset BF16_BF16_F32_X6": Way(call("BF16_BF16_F32_X6"), "BF16_BF16_F32_X6"),
}


def requested(multiply, x, y):
    """Return the precisions that the products of a traced function request, such as `HIGHEST`."""
    names = sorted(
        {name(precision) for precision in precisions(jax.make_jaxpr(multiply)(x, y).jaxpr)}
    )
    return " and ".join(names) or "no product at all"


def computed(products, pair):
    """Yield the arithmetic of each product of a pair; products with the same bits share theirs."""
    classes = {}
    for product in products:
        bits = np.asarray(product).tobytes()
        if bits not in classes:
            classes[bits] = _precision.classify(_precision.relative_error(product, pair))
        yield classes[bits]


def precisions(jaxpr):
    """Yield the `precision` of every product in a traced program, including nested programs."""
    for equation in jaxpr.eqns:
        if "precision" in equation.params:
            yield equation.params["precision"]
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                yield from precisions(inner)


def name(precision):
    """Return the name of a precision: of a level, a pair of equal levels, a preset, or none."""
    if isinstance(precision, tuple) and precision[0] == precision[1]:
        precision = precision[0]
    return "nothing" if precision is None else getattr(precision, "name", str(precision))
