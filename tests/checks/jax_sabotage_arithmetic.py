"""The smallest sabotage of each arithmetic check, by the check's name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest

from tests.checks import mxu

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def trace_again(patch: pytest.MonkeyPatch, module: ModuleType, name: str) -> None:
    """Give a program a new function object, because JAX caches the trace of the old one."""
    honest = getattr(module, name)

    def again(*arrays: jax.Array) -> object:
        return honest(*arrays)

    patch.setattr(module, name, again)


def highest_makes_three_passes(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let `highest` do what `high` does on a TPU."""
    patch.setattr(module, "multiply_highest", mxu.passes(3))


def float8_sums_are_kept_in_bfloat16(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Add float8 products in bfloat16, and leave the other types as they are."""
    honest = module.multiply_floats

    def multiply_floats(x: jax.Array, y: jax.Array) -> jax.Array:
        exact = honest(x, y)
        return mxu.bfloat16(exact) if x.dtype.itemsize == 1 else exact

    patch.setattr(module, "multiply_floats", multiply_floats)


def one_convolution_is_shifted(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the strided convolution start one place further on."""
    products = module._products.PRODUCTS
    product = products["convolution, strided"]
    shifted = product._replace(device=lambda x, y: product.device(jnp.roll(x, -1, axis=3), y))
    patch.setitem(products, "convolution, strided", shifted)
    trace_again(patch, module, "multiply_all")


def the_context_manager_is_ignored(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let `with jax.default_matmul_precision("highest")` change nothing."""
    ways = module._requests.WAYS
    patch.setitem(
        ways, "context 'highest'", ways["context 'highest'"]._replace(multiply=jnp.matmul)
    )
    trace_again(patch, module, "multiply_all_ways")


def plain_code_asks_for_something(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let plain code request the default by name, which no setting changes."""

    def multiply_plain(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.matmul(x, y, precision="default")

    patch.setattr(module, "multiply_plain", multiply_plain)


def bfloat16_stops_at_128(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Count as a type with one bit less does."""
    honest = module.count

    def count(small: jax.Array, middle: jax.Array, large: jax.Array) -> list[jax.Array]:
        small, middle, large = honest(small, middle, large)
        return [jnp.minimum(small, 128), middle, large]

    patch.setattr(module, "count", count)


def uint8_saturates(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the sums of `uint8` stop at 255."""
    honest = module.compute

    def compute(x: jax.Array, y: jax.Array, bits: jax.Array) -> tuple[jax.Array, ...]:
        first, *others = honest(x, y, bits)
        if isinstance(x, jax.Array) and x.dtype == jnp.uint8:
            first = jnp.where(first < x, jnp.uint8(255), first)
        return first, *others

    patch.setattr(module, "compute", compute)
    trace_again(patch, module, "wrap")


def the_largest_number_hides_a_nan(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let `max` ignore NaN."""
    honest = module.propagate

    def propagate(x: jax.Array) -> dict[str, jax.Array]:
        return {**honest(x), "max": jnp.nanmax(x, axis=1)}

    patch.setattr(module, "propagate", propagate)


def device_five_adds_in_another_order(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the sum of normal numbers on the device at place 5 be off by one bit."""
    honest = module.reduce_all

    def reduce_all(*arrays: jax.Array) -> dict[str, jax.Array]:
        results = honest(*arrays)
        name, place = "sum of normal numbers", jax.lax.axis_index("d")
        return {**results, name: jnp.where(place == 5, results[name] * (1 + 2**-22), results[name])}

    patch.setattr(module, "reduce_all", reduce_all)


def ties_are_sorted_backwards(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the last of equal numbers come first."""
    honest = module.orders

    def orders(x: jax.Array, number: jax.Array) -> dict[str, jax.Array]:
        backwards = len(x) - 1 - jnp.argsort(x[::-1], stable=True)
        return {**honest(x, number), "argsort": backwards}

    patch.setattr(module, "orders", orders)
    trace_again(patch, module, "order")


def factors_are_bfloat16(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Round every factor to bfloat16."""
    honest = module.factor

    def factor(*matrices: jax.Array) -> dict[str, list[jax.Array]]:
        return jax.tree.map(mxu.bfloat16, honest(*matrices))

    patch.setattr(module, "factor", factor)


SABOTAGE: dict[str, Break] = {
    "bfloat16_counting": bfloat16_stops_at_128,
    "integer_overflow": uint8_saturates,
    "linear_algebra": factors_are_bfloat16,
    "matmul_dtypes": float8_sums_are_kept_in_bfloat16,
    "matmul_precision": highest_makes_three_passes,
    "matmul_shapes": one_convolution_is_shifted,
    "default_precision": plain_code_asks_for_something,
    "asked_precision": the_context_manager_is_ignored,
    "reductions": device_five_adds_in_another_order,
    "sorting": ties_are_sorted_backwards,
    "special_values": the_largest_number_hides_a_nan,
}
