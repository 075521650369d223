"""The arguments of a rehearsed function, as typed: arrays, and values that the user's file makes.

An array is its type and shape, `f32[8,128]`. A value is a Python literal, a name in the user's
file, or a call of one of its functions, such as `init(u32[2])`. A prefix `name=` makes it a keyword
argument, and `*` unpacks it into several. A call is traced by `jax.eval_shape`, so it computes
nothing.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

UsersValue = Any
"""A value of the user's file, or one computed from it."""
TYPES = {
    "f32": "float32",
    "bf16": "bfloat16",
    "f16": "float16",
    "f64": "float64",
    "s8": "int8",
    "s16": "int16",
    "s32": "int32",
    "s64": "int64",
    "s4": "int4",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "u4": "uint4",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "i4": "int4",
    "pred": "bool",
    "c64": "complex64",
    "c128": "complex128",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz",
}
"""NumPy's names of types, keyed by their short names in HLO (and `i8` for `s8`)."""
_NAMES = {**TYPES, **{name: name for name in TYPES.values()}}
_SCALAR = re.compile(rf"\b({'|'.join(_NAMES)})\[\s*\]")
_LARGEST = 2**31 - 1
"""The largest dimension that XLA accepts."""
_MOST_TEXT = 1000


@dataclass(frozen=True)
class PythonArgument:
    """An argument that is not one array: a literal, a name in the user's file, or a call."""

    text: str
    value: ast.expr
    by_name: str = ""
    """The parameter, for a keyword argument."""
    spread: bool = False
    """True if the value is unpacked into several arguments."""

    @property
    def file_name(self) -> str:
        """The name that the user's file must define; empty for a literal or an array."""
        inner = self.value.func if isinstance(self.value, ast.Call) else self.value
        return _dotted(inner).partition(".")[0]


def parse_python_argument(text: str) -> PythonArgument | None:
    """Parse the user's text for an argument: a literal, a name or a call.

    Return None for any other text, such as a plain array or a bare list.
    """
    typed = text.strip()
    if not typed or len(typed) > _MOST_TEXT or typed in _NAMES:
        return None
    readable = _SCALAR.sub(r"\1[()]", typed)  # Python allows no empty index
    try:
        call = ast.parse(f"_({readable}\n)", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) != 1:
        return None
    if call.keywords:
        (keyword,) = call.keywords
        value, by_name = keyword.value, keyword.arg or ""
        if not by_name or not _is_value(value):
            return None
        return PythonArgument(typed, value, by_name)
    (value,) = call.args
    spread = isinstance(value, ast.Starred)
    inner = value.value if isinstance(value, ast.Starred) else value
    # A list is a shape without a type, and a bare subscript is a plain array.
    if isinstance(inner, ast.Subscript | ast.List | ast.Set | ast.Dict) or not _is_value(inner):
        return None
    return PythonArgument(typed, inner, spread=spread)


def _is_value(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        inner = [*node.args, *(one.value for one in node.keywords)]
        named = all(one.arg for one in node.keywords)
        return bool(_dotted(node.func)) and named and all(map(_is_value, inner))
    return bool(_dotted(node)) or _array(node) is not None or _is_literal(node)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := _dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def _array(node: ast.expr) -> tuple[str, tuple[int, ...]] | None:
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    kind = _NAMES.get(node.value.id)
    sizes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    shape = [one.value for one in sizes if isinstance(one, ast.Constant)]
    numbers = [one for one in shape if type(one) is int and 0 <= one <= _LARGEST]
    return (kind, tuple(numbers)) if kind and len(numbers) == len(sizes) else None


TypedArgument = tuple[str, Sequence[int]] | str
"""An array's type and shape, or the text of a `PythonArgument`; JSON makes a tuple a list."""


def list_argument_dtypes(arguments: Sequence[TypedArgument]) -> Iterator[str]:
    """Yield NumPy's name of the type of each array in a command's arguments."""
    for argument in arguments:
        if not isinstance(argument, str):
            yield argument[0]
            continue
        written = parse_python_argument(argument)
        for node in ast.walk(written.value) if written else ():
            if isinstance(node, ast.Subscript) and (array := _array(node)):
                yield array[0]


def bind_arguments(
    jax: ModuleType,
    file: object,
    function: Callable[..., object],
    arguments: Sequence[TypedArgument],
) -> tuple[Callable[..., object], list[object], dict[str, object], list[str]]:
    """Return a function, the values for its parameters by position and by name, and notes.

    For a plain function, values other than arrays are bound in the function that is returned. A
    jitted function gets them as arguments, because it declares itself which of them are static.

    Args:
        jax: The module `jax`.
        file: The module of the user's file.
        function: The named function.
        arguments: For each, a pair of type and shape, or the text of a `PythonArgument`.
    """
    values: list[object] = []
    named: dict[str, object] = {}
    notes: list[str] = []
    fixed: set[int | str] = set()
    for argument in arguments:
        if not isinstance(argument, str):
            kind, shape = argument
            values.append(jax.ShapeDtypeStruct(tuple(shape), kind))
            continue
        written = parse_python_argument(argument)
        if written is None:
            raise ValueError(f"the argument `{argument}` cannot be read")
        value = _make(jax, file, written.value)
        place = written.by_name or len(values)
        if isinstance(written.value, ast.Call):
            name = written.by_name or _parameter(function, len(values))
            whose = "the arguments have" if written.spread else f"`{name}` has"
            notes.append(f"{whose} the types that `{ast.unparse(written.value)}` returns")
        elif not any(isinstance(leaf, jax.Array) for leaf in jax.tree_util.tree_leaves(value)):
            fixed.add(place)
        if written.by_name:
            named[written.by_name] = value
        else:
            values.extend(value if written.spread else [value])
    if fixed and not hasattr(function, "lower"):
        function = _fix(function, values, named, fixed)
        values = [value for number, value in enumerate(values) if number not in fixed]
        named = {name: value for name, value in named.items() if name not in fixed}
    return function, values, named, notes


def _fix(
    function: Callable[..., object],
    values: Sequence[object],
    named: Mapping[str, object],
    fixed: set[int | str],
) -> Callable[..., object]:
    whole, by_name = list(values), {key: one for key, one in named.items() if key in fixed}
    free = [number for number in range(len(whole)) if number not in fixed]

    @functools.wraps(function)
    def program(*arrays: object, **others: object) -> object:
        filled = list(whole)
        for number, array in zip(free, arrays, strict=True):
            filled[number] = array
        return function(*filled, **by_name, **others)

    return program


def _parameter(function: Callable[..., object], number: int) -> str:
    try:
        return list(inspect.signature(function).parameters)[number]
    except (TypeError, ValueError, IndexError):
        return f"argument {number + 1}"


def _make(jax: ModuleType, file: object, node: ast.expr) -> UsersValue:
    # Leaves that are not arrays bypass the tracing; a library's model holds functions, for example.
    if not isinstance(node, ast.Call):
        return _evaluate(node, file, {})
    arrays = {n: array for n in ast.walk(node) if isinstance(n, ast.expr) and (array := _array(n))}
    types = [jax.ShapeDtypeStruct(shape, kind) for kind, shape in arrays.values()]
    made: list[tuple[list[object], object]] = []

    def program(*traced: object) -> list[object]:
        value = _evaluate(node, file, dict(zip(arrays, traced, strict=True)))
        leaves, structure = jax.tree_util.tree_flatten(value)
        made.append((leaves, structure))
        return [leaf for leaf in leaves if isinstance(leaf, jax.Array)]

    traced = iter(jax.eval_shape(program, *types))
    leaves, structure = made[-1]
    filled = [next(traced) if isinstance(leaf, jax.Array) else leaf for leaf in leaves]
    return jax.tree_util.tree_unflatten(structure, filled)


def _evaluate(node: ast.expr, file: object, arrays: Mapping[ast.expr, object]) -> UsersValue:
    if node in arrays:
        return arrays[node]
    if isinstance(node, ast.Call):
        values = [_evaluate(one, file, arrays) for one in node.args]
        named = {str(one.arg): _evaluate(one.value, file, arrays) for one in node.keywords}
        return _evaluate(node.func, file, arrays)(*values, **named)
    if names := _dotted(node):
        value = file
        for name in names.split("."):
            value = getattr(value, name)
        return value
    return ast.literal_eval(node)
