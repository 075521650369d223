"""Sabotage of the speed checks, which makes each of them fail."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.checks.jax_sabotage_cores import at

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def eightfold(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Scale each product by a wrong power of two."""
    honest = module.multiply
    patch.setattr(module, "multiply", lambda x, *others: honest(x, *others) * x.dtype.type(8))


def scaled_on_all_but_one(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the device at place 5 leave its array as it is where it should be scaled."""
    patch.setattr(module, "scale", renamed("scale", lambda a, _b, s: jnp.where(at(5), a, s * a)))


def renamed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function under the name of another."""
    function.__name__ = name
    return function


def spoilt_on(place: int, function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Return a function that flips the lowest bit of one float32 of its result on one device."""

    def spoilt(*arguments: Any) -> jax.Array:
        result = function(*arguments)
        bits = jax.lax.bitcast_convert_type(result, jnp.uint32)
        bits = bits.at[(1,) * bits.ndim].add(at(place).astype(jnp.uint32))
        return jax.lax.bitcast_convert_type(bits, jnp.float32)

    return renamed(function.__name__, spoilt)


SABOTAGE: dict[str, Break] = {
    "hbm_rate": scaled_on_all_but_one,
    "matmul_rate": eightfold,
}
