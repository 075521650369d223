"""Functions of `jax.pmap` as jitted programs of several devices, whose arguments are sharded.

Since JAX 0.8 `pmap` is a `shard_map` that is jitted, so `jax.jit` of its function is the same
program with shardings that can be given. Before that it had a runtime of its own.
Source: https://docs.jax.dev/en/latest/migrate_pmap.html (read 2026-11)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

SINCE = (0, 8)
"""The first JAX whose `pmap` can be lowered for a TPU here."""
TOO_OLD = "only the `pmap` of JAX 0.8 and later can be rehearsed, because it is a `shard_map` there"
_AXIS = "pmap"


class PmappedFunction:
    """A function of `jax.pmap`, and the jitted program that stands for it."""

    def __init__(
        self, jax: Any, jit: Callable[..., Any], mapped: Any, options: Mapping[str, Any]
    ) -> None:
        """Keep the function.

        Args:
            jax: The module.
            jit: The `jax.jit` of JAX itself.
            mapped: What `jax.pmap` returned.
            options: The options that it was given.
        """
        self._jax, self._mapped, self._options = jax, mapped, options
        self._jit = jit
        static: Any = options.get("static_broadcasted_argnums", ())
        self._static = (static,) if isinstance(static, int) else tuple(static)

    def jit_for(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the jitted program, and its arguments as types with their shardings."""
        jax = self._jax
        if jax.__version_info__ < SINCE:
            raise NotImplementedError(TOO_OLD)
        axes = self._options.get("in_axes", 0)
        each = axes if isinstance(axes, tuple | list) else [axes] * len(arguments)
        pairs = [
            pair
            for number, (axis, argument) in enumerate(zip(each, arguments, strict=True))
            if number not in self._static
            for pair in self._list_leaves(axis, argument)
        ]
        pairs += [(0, leaf) for leaf in jax.tree_util.tree_leaves(named)]
        size = next(jax.numpy.shape(leaf)[axis] for axis, leaf in pairs if axis is not None)
        devices = self._options.get("devices") or jax.local_devices()[:size]
        mesh = jax.sharding.Mesh(devices, (_AXIS,))
        sharded = [
            argument if number in self._static else self._shard(mesh, axis, argument)
            for number, (axis, argument) in enumerate(zip(each, arguments, strict=True))
        ]
        jitted = self._jit(
            self._mapped,
            static_argnums=self._static,
            donate_argnums=self._options.get("donate_argnums", ()),
        )
        return jitted, tuple(sharded), self._shard(mesh, 0, named)

    def _list_leaves(self, axis: Any, argument: Any) -> list[tuple[int | None, Any]]:
        # `in_axes` may be a tree whose leaves stand for whole parts of the argument.
        found: list[tuple[int | None, Any]] = []
        self._map(lambda one, leaf: found.append((one, leaf)), axis, argument)
        return found

    def _shard(self, mesh: Any, axis: Any, argument: Any) -> Any:
        jax = self._jax

        def one(axis: int | None, leaf: Any) -> Any:
            if not hasattr(leaf, "shape"):  # a Python number, which is the same on each device
                return leaf
            spec = () if axis is None else (*[None] * (axis % leaf.ndim), _AXIS)
            sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

        return self._map(one, axis, argument)

    def _map(self, function: Callable[[int | None, Any], Any], axis: Any, argument: Any) -> Any:
        tree_map = self._jax.tree_util.tree_map

        def inner(axis: int | None, part: Any) -> Any:
            return tree_map(lambda leaf: function(axis, leaf), part)

        return tree_map(inner, axis, argument, is_leaf=lambda one: one is None)
