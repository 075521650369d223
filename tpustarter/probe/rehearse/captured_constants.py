"""Large arrays that a program captures as constants, and their names in its source.

A captured constant is embedded in the program's text, and the compiler copies it several times: a
constant of 3 GiB took 24 GB of memory (jax 0.12.0.1, libtpu 0.0.50.1).
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator

from tpustarter.probe.rehearse import jitted_functions
from tpustarter.probe.rehearse.jax_types import ArrayLike, Traced

LARGE_BYTES = 2**27
"""Total size, in bytes, at which a program's constants are reported."""
MOST_NAMED = 3
_DEPTH = 6
"""Most levels of wrapped, bound and captured functions that are searched."""

Named = tuple[str, object]


def describe_large_constants(jax: types.ModuleType, function: object, traced: Traced) -> list[str]:
    """Return a note if a traced function captures large constants, or an empty list."""
    constants = [value for value in getattr(traced.jaxpr, "consts", ()) if _bytes(value)]
    total = sum(map(_bytes, constants))
    if total < LARGE_BYTES:
        return []
    candidates = list(_named_arrays(jax, function))
    constants.sort(key=_bytes, reverse=True)
    texts = [_describe(value, candidates) for value in constants[:MOST_NAMED]]
    more = f" and {len(constants) - MOST_NAMED} more" if len(constants) > MOST_NAMED else ""
    text = f"it captures {_size(total)} of constants, {', '.join(texts)}{more}"
    advice = "the compiler may need several times that memory here; pass them as arguments"
    return [f"{text}: {advice}"]


def _describe(value: ArrayLike, candidates: list[tuple[str, ArrayLike]]) -> str:
    text = jitted_functions.format_hlo_type(value)
    same = [name for name, array in candidates if array is value]
    # JAX may wrap a NumPy array in an object of its own.
    alike = [
        name
        for name, array in candidates
        if (array.dtype, tuple(array.shape)) == (value.dtype, tuple(value.shape))
    ]
    names = list(dict.fromkeys(same or alike))
    return f"`{names[0]}` {text}" if names and (same or len(names) == 1) else text


def _named_arrays(jax: types.ModuleType, function: object) -> Iterator[tuple[str, ArrayLike]]:
    for name, value in _reached(function, _DEPTH, set()):
        with contextlib.suppress(Exception):  # reading a foreign object may raise anything
            for path, leaf in jax.tree_util.tree_flatten_with_path(value)[0]:
                if _bytes(leaf):
                    yield name + jax.tree_util.keystr(path), leaf


def _reached(function: object, depth: int, visited: set[int]) -> Iterator[Named]:
    if depth == 0 or id(function) in visited:
        return
    visited.add(id(function))
    for name in ("__wrapped__", "func", "__func__", "__call__"):
        inner = getattr(function, name, None)
        if inner is not None and not isinstance(inner, types.MethodWrapperType):
            yield from _reached(inner, depth - 1, visited)
    bound = getattr(function, "__self__", None)
    if bound is not None and not isinstance(bound, types.ModuleType):
        yield "self", bound
        yield from (
            (f"self.{name}", value) for name, value in getattr(bound, "__dict__", {}).items()
        )
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType):
        return
    names: dict[str, object] = {}
    cells: tuple[types.CellType, ...] = getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars, cells, strict=False):
        with contextlib.suppress(ValueError):  # a cell may be empty
            names[name] = cell.cell_contents
    module: dict[str, object] = getattr(function, "__globals__", {})
    names |= {name: module[name] for name in _read_names(code) if name in module}
    for name, value in names.items():
        if not isinstance(value, types.ModuleType):
            yield name, value
            yield from _reached(value, depth - 1, visited)


def _read_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _read_names(constant)


def _bytes(value: object) -> int:
    # A scalar has an empty shape, and counts as 0.
    size = getattr(value, "nbytes", 0) if getattr(value, "shape", ()) else 0
    return size if isinstance(size, int) else 0


def _size(count: float) -> str:
    return f"{count / 2**30:.2f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
