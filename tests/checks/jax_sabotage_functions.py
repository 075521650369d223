"""Sabotage of `jax.math_functions`: results some ULP off, of one type or on one device."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import jax
import jax.numpy as jnp
import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]
Wrong = Callable[[jax.Array], jax.Array]

INTEGERS = {"float32": jnp.int32, "bfloat16": jnp.int16}


def moved(y: jax.Array, ulps: jax.Array | int) -> jax.Array:
    """Move numbers of medium size by so many ULP towards zero; `y: float[n]`.

    Away from zero a step may be two of the ULP that errors are counted in.
    """
    integer = INTEGERS[y.dtype.name]
    bits = jax.lax.bitcast_convert_type(y, integer) - jnp.asarray(ulps, integer)
    middle = (jnp.abs(y) > 1e-30) & (jnp.abs(y) < 1e30)
    return jnp.where(middle, jax.lax.bitcast_convert_type(bits, y.dtype), y)


def change(patch: pytest.MonkeyPatch, module: ModuleType, name: str, wrong: Wrong) -> None:
    """Change one result, by its name and type, such as `exp, float32`."""
    honest = module.evaluate

    def evaluate(x: jax.Array, b: jax.Array) -> dict[str, jax.Array]:
        results = honest(x, b)
        return {**results, name: wrong(results[name])}

    patch.setattr(module, "evaluate", evaluate)


def device_five_is_one_ulp_off(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let `tanh` be one ULP less on the device at place 5."""

    def wrong(y: jax.Array) -> jax.Array:
        return moved(y, (jax.lax.axis_index("d") == 5).astype(jnp.int32))

    change(patch, module, "tanh, float32", wrong)


SABOTAGE: dict[str, Break] = {"math_functions": device_five_is_one_ulp_off}
