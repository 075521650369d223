"""Sabotage of the endurance check, which makes it fail."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def flipped(numbers: jax.Array, when: jax.Array) -> jax.Array:
    """Return numbers with the last bit of the first one changed where `when` says; traced."""
    first = (0,) * numbers.ndim
    return numbers.at[first].set(numbers[first] ^ when.astype(jnp.uint32))


def flip(kind: int, when: Callable[[Any, Any], Any]) -> Break:
    """Return a sabotage that flips a bit in one kind of work, on given rounds and devices."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        work = module._soak._work
        honest = work.one_round

        def one_round(number: Any, bits: jax.Array, names: list[str]) -> list[jax.Array]:
            results = honest(number, bits, names)
            results[kind] = flipped(results[kind], when(number, jax.lax.axis_index("d")))
            return results

        patch.setattr(work, "one_round", one_round)

    return breaks


def forget(place: int, chunk: int) -> Break:
    """Return a sabotage that flips a bit of one chunk on one device before the first pass."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        honest = module._pattern.written

        def written(number: Any, at: Any, rows: int) -> jax.Array:
            when = (jax.lax.axis_index("d") == place) & (at == chunk) & (number == 0)
            return flipped(honest(number, at, rows), when)

        patch.setattr(module._pattern, "written", written)

    return breaks


SABOTAGE: dict[str, Break] = {
    "endurance": flip(0, lambda number, place: (number == 1) & (place == 3)),
}
