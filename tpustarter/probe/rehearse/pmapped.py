"""Functions of `jax.pmap`, as jitted programs with sharded arguments.

Since JAX 0.8, `pmap` is a jitted `shard_map`, so `jax.jit` of its function is the same program with
explicit shardings. Before that, it had its own runtime.
Source: https://docs.jax.dev/en/latest/migrate_pmap.html (read 2026-11)
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tpustarter.probe.rehearse.exports import LoweringJob
from tpustarter.probe.rehearse.jax_types import ArrayLike, JaxFunction

_T = TypeVar("_T")
PmapOptions = Mapping[str, Any]
"""The options of `jax.pmap`, which JAX validates."""
SINCE = (0, 8)
"""The first JAX version whose `pmap` can be lowered for a TPU."""
TOO_OLD = "only the `pmap` of JAX 0.8 and later can be rehearsed, because it is a `shard_map` there"
_AXIS = "pmap"


class PmappedFunction:
    """A function of `jax.pmap`, and its equivalent jitted program."""

    def __init__(
        self, jit: Callable[..., JaxFunction], mapped: JaxFunction, options: PmapOptions
    ) -> None:
        """Store the function.

        Args:
            jit: The original `jax.jit`.
            mapped: The result of `jax.pmap`.
            options: The options passed to `jax.pmap`.
        """
        self._jax = importlib.import_module("jax")
        self._jit, self._mapped, self._options = jit, mapped, options
        static: int | Sequence[int] = options.get("static_broadcasted_argnums", ())
        self._static = (static,) if isinstance(static, int) else tuple(static)

    def make_job(self, arguments: tuple[object, ...], named: dict[str, object]) -> LoweringJob:
        """Return the jitted program, with the types and shardings of its arguments.

        Raises:
            NotImplementedError: JAX is too old.
        """
        jax = self._jax
        if jax.__version_info__ < SINCE:
            raise NotImplementedError(TOO_OLD)
        axes: Any = self._options.get("in_axes", 0)
        each: Sequence[object] = axes if type(axes) in (tuple, list) else [axes] * len(arguments)
        mapped = [*zip(each, arguments, strict=True)]
        size = next(self._list_sizes([*mapped, (0, named)]), 1)  # JAX refuses it without any
        devices = self._options.get("devices") or jax.local_devices()[:size]
        mesh = jax.sharding.Mesh(devices, (_AXIS,))
        sharded = [
            argument if number in self._static else self._shard(mesh, axis, argument)
            for number, (axis, argument) in enumerate(mapped)
        ]
        jitted = self._jit(
            self._mapped,
            static_argnums=self._static,
            donate_argnums=self._options.get("donate_argnums", ()),
        )
        parameters: tuple[str, ...] = ()
        with contextlib.suppress(TypeError, ValueError):  # not every callable has a signature
            parameters = tuple(inspect.signature(self._mapped).parameters)
        return LoweringJob(jitted, sharded, self._shard(mesh, 0, named), parameters)

    def _list_sizes(self, mapped: Sequence[tuple[object, object]]) -> Iterator[int]:
        sizes: list[int] = []

        def one(axis: int | None, leaf: ArrayLike) -> None:
            if axis is not None and hasattr(leaf, "shape"):
                sizes.append(leaf.shape[axis])

        for number, (axis, argument) in enumerate(mapped):
            if number not in self._static:
                self._map(one, axis, argument)
        yield from sizes

    def _shard(self, mesh: object, axis: object, argument: _T) -> _T:
        sharding = self._jax.sharding

        def one(axis: int | None, leaf: ArrayLike) -> object:
            if not hasattr(leaf, "shape"):  # a Python number, which is replicated
                return leaf
            spec = () if axis is None else (*[None] * (axis % len(leaf.shape)), _AXIS)
            placed = sharding.NamedSharding(mesh, sharding.PartitionSpec(*spec))
            kind = self._jax.dtypes.canonicalize_dtype(leaf.dtype, allow_extended_dtype=True)
            return self._jax.ShapeDtypeStruct(leaf.shape, kind, sharding=placed)

        return self._map(one, axis, argument)

    def _map(
        self, function: Callable[[int | None, ArrayLike], object], axis: object, argument: _T
    ) -> _T:
        # `in_axes` may be a pytree prefix, whose leaves apply to whole subtrees of the argument.
        tree_map = self._jax.tree_util.tree_map

        def inner(axis: int | None, part: object) -> object:
            return tree_map(functools.partial(function, axis), part)

        return tree_map(inner, axis, argument, is_leaf=_is_none)


def _is_none(value: object) -> bool:
    return value is None
