"""Sabotage of the checks of devices and of many cores, which makes each of them fail."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def at(place: int) -> jax.Array:
    """Return whether this device is at a place in the row; traced."""
    return jax.lax.axis_index("d") == place


def swapped(x: jax.Array) -> jax.Array:
    """Return `x` with what the devices at places 2 and 3 hold exchanged; traced."""
    received = jax.lax.ppermute(x, "d", [(2, 3), (3, 2)])
    return jnp.where(at(2) | at(3), received, x)


def after(name: str, change: Callable[..., Any]) -> Break:
    """Return a sabotage that changes the result of one function of a check, given its arguments."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        honest = getattr(module, name)

        def broken(*arguments: Any) -> Any:
            return change(honest(*arguments), *arguments)

        broken.__name__ = name
        patch.setattr(module, name, broken)

    return breaks


def before(name: str, change: Callable[[Any], Any]) -> Break:
    """Return a sabotage that changes the first argument of one function of a check."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        honest = getattr(module, name)
        patch.setattr(module, name, lambda x, *others: honest(change(x), *others))

    return breaks


def without_three(x: jax.Array) -> jax.Array:
    """Return zeros on the device at place 3, `x` elsewhere."""
    return jnp.where(at(3), 0, x)


def exchange_rows(rows: jax.Array, *_: Any) -> jax.Array:
    """Return an array whose rows 2 and 3 stand in each other's place."""
    return rows.at[jnp.array([2, 3])].set(rows[jnp.array([3, 2])])


def one_neighbour_too_far(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Send to the device after the next one in place of the next."""
    honest = module.routes

    def routes(count: int) -> Any:
        return ([(i, (i + 2) % count) for i in range(count)], *honest(count)[1:])

    patch.setattr(module, "routes", routes)


def ring_skips_one(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Send over one device of the ring."""

    def from_before(x: jax.Array, count: int) -> jax.Array:
        return jax.lax.ppermute(x, "d", [(i, (i + 2) % count) for i in range(count)])

    patch.setattr(module._ring, "from_before", from_before)


def half_of_k_is_lost(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the devices at place 1 of axis `k` add nothing to the product."""

    def product(x: jax.Array, y: jax.Array) -> jax.Array:
        mine = jnp.where(jax.lax.axis_index("k") == 1, 0, jnp.matmul(x, y))
        return jax.lax.psum(mine, "k")

    patch.setattr(module, "product", product)


def flip_a_bit(results: Any, _: Any) -> Any:
    """Change the last bit of one number of the first result on the device at place 6."""
    first, *others = results
    bits = jax.lax.bitcast_convert_type(first, jnp.uint32)
    bits = bits.at[0, 0].set(bits[0, 0] ^ at(6).astype(jnp.uint32))
    return (jax.lax.bitcast_convert_type(bits, jnp.float32), *others)


def lose_a_word(words: jax.Array, *_: Any) -> jax.Array:
    """Change one word in the memory of the device at place 5."""
    return words.at[0, 77].add(at(5).astype(jnp.int32))


SABOTAGE: dict[str, Break] = {
    "all_gather": after("stacked", exchange_rows),
    "all_reduce": before("total", without_three),
    "all_to_all": after("stacked", exchange_rows),
    "axis_types": after("combine", lambda results, *_: (results[0], results[1] + 1)),
    "coordinates": ring_skips_one,
    "device_identity": after("answer", lambda result, _: swapped(result)),
    "device_memory": after("fill", lose_a_word),
    "meshes": half_of_k_is_lost,
    "permute": one_neighbour_too_far,
    "pmap": after("own_row", lambda rows, *_: (jnp.where(at(5), 0, rows[0]), rows[1])),
    "reduce_scatter": after("kept", lambda part, _: swapped(part)),
    "same_everywhere": after("compute", flip_a_bit),
    "shard_map_gradients": after("gradient", lambda result, *_: jnp.where(at(5), 0, result)),
    "uneven_sizes": after("doubled", lambda result, x, _: result + (x == x[-1])),
}
