"""Jitted functions of arrays, made from any callable that a user rehearses."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TypeGuard

from tpustarter.probe.rehearse.jax_types import ArrayLike, JaxFunction

_NARROWED = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
"""The 32-bit types to which JAX narrows 64-bit types, unless `jax_enable_x64` is on."""
_NUMBERS = (bool, int, float, complex)
DONATES = "what it donates is not seen here: the memory of its arguments is counted in full"


def make_jitted(
    jax: ModuleType,
    function: Callable[..., object],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> tuple[JaxFunction, Sequence[object], Mapping[str, object], list[str]]:
    """Return a jitted function, its arguments by position and by name, and notes on it.

    A function made by `jax.jit` is returned unchanged. A library's own `jit` may take arguments
    that are not arrays, as Equinox's `filter_jit` does. Such a function is traced with all other
    arguments fixed, and returns only the arrays of its result. So is a plain function, whose Python
    numbers count as arrays, as they do in JAX.
    """
    from_library = is_jitted(function)
    if type(function).__name__ == "PjitFunction" and from_library:
        return function, arguments, named, []
    leaves, structure = jax.tree_util.tree_flatten((tuple(arguments), dict(named)))
    kinds = () if from_library else _NUMBERS
    positions = [n for n, leaf in enumerate(leaves) if is_array(leaf) or isinstance(leaf, kinds)]
    if len(positions) == len(leaves) and not from_library:
        return jax.jit(function), arguments, named, []

    def program(*arrays: object) -> list[object]:
        filled = list(leaves)
        for position, array in zip(positions, arrays, strict=True):
            filled[position] = array
        values, by_name = jax.tree_util.tree_unflatten(structure, filled)
        result = function(*values, **by_name)
        return [
            leaf
            for leaf in jax.tree_util.tree_leaves(result)
            if is_array(leaf) or isinstance(leaf, _NUMBERS)
        ]

    program.__name__ = program.__qualname__ = str(getattr(function, "__name__", "program"))
    donates = getattr(function, "donate_first", False) or getattr(function, "donate_rest", False)
    dynamic = [leaves[position] for position in positions]
    return jax.jit(program), dynamic, {}, [DONATES] if donates else []


def has_named_arguments(function: Callable[..., object], jitted: JaxFunction) -> bool:
    """Return whether `jax.jit` can donate arguments by the names in the program."""
    if jitted is not function and getattr(jitted, "__wrapped__", None) is not function:
        return False
    with contextlib.suppress(TypeError, ValueError):  # not every callable has a signature
        parameters = inspect.signature(function).parameters.values()
        return not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters)
    return False


def is_jitted(function: object) -> TypeGuard[JaxFunction]:
    """Return whether a function was made by `jax.jit` or by a library's `jit`."""
    return hasattr(function, "lower")


def is_array(value: object) -> TypeGuard[ArrayLike]:
    """Return whether JAX treats a value as an array, or as the type of one."""
    return hasattr(value, "shape") and hasattr(value, "dtype")


def format_hlo_type(value: ArrayLike) -> str:
    """Return an array's type in HLO notation, such as `f32[8,128]`.

    A type that JAX narrows to 32 bits is named as it is compiled: NumPy's `int64` is `s32`.
    """
    jax = sys.modules.get("jax")
    kind = str(value.dtype)
    if jax is not None and not jax.config.jax_enable_x64:
        kind = _NARROWED.get(kind, kind)
    return f"{format_element_type(kind)}[{','.join(str(size) for size in value.shape)}]"


def format_element_type(kind: object) -> str:
    """Return an element type in HLO notation, such as `bf16` for `bfloat16`."""
    return re.sub(r"^(bfloat|float|int|uint|complex)(?=\d)", _abbreviation, str(kind))


def _abbreviation(match: re.Match[str]) -> str:
    return {"bfloat": "bf", "float": "f", "int": "s", "uint": "u", "complex": "c"}[match[1]]
