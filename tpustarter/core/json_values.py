"""Typed values from untrusted JSON; a value of another type is left out."""

from __future__ import annotations

from typing import Any, TypeGuard, TypeVar

_T = TypeVar("_T")
JsonValue = Any
"""A value of any type in a document; msgspec makes no schema of `object`."""


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Return whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Return whether a JSON value is an array."""
    return isinstance(value, list)


def as_object(value: object) -> dict[str, object]:
    """Return a JSON value if it is an object, or else an empty dictionary."""
    return value if is_object(value) else {}


def as_type(value: object, kind: type[_T]) -> _T | None:
    """Return a JSON value converted to a type, or None if it does not fit."""
    import msgspec  # late, because `core.state` does not need it before the first paint

    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):  # a string may contain a lone surrogate
        return None


def items_of_type(value: object, kind: type[_T], most: int | None = None) -> list[_T]:
    """Return the items of a JSON array that have a type, out of the first `most` or of all."""
    every = (as_type(item, kind) for item in (value[:most] if is_array(value) else ()))
    return [item for item in every if item is not None]


def entries_of_type(value: object, kind: type[_T]) -> dict[str, _T]:
    """Return the entries of a JSON object whose values have a type."""
    every = ((name, as_type(item, kind)) for name, item in as_object(value).items())
    return {name: item for name, item in every if item is not None}
