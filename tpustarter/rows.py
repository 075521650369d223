"""Reads data files row by row: what is missing or of a wrong type is one clear error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from tpustarter import content, locations
from tpustarter.problem import Problem

_Made = TypeVar("_Made")


def load(file: Path) -> Any:
    """Return what a YAML file says; raises Problem for one that cannot be read."""
    try:
        return content.read_yaml(locations.read_text(file))
    except (OSError, ValueError) as error:
        raise Problem(f"`{file.name}` cannot be read: {error}") from error


def made(make: Callable[[Mapping[str, Any]], _Made], row: Any, name: str, file: Path) -> _Made:
    """Return what a row becomes; raises Problem with the row's name and what is wrong with it.

    Args:
        make: Takes the fields; raises KeyError or ValueError.
        row: What the file holds.
        name: Of the row, for people.
        file: Where it stands.
    """
    if not isinstance(row, dict):
        raise Problem(f"the row `{name}` of `{file.name}` is {row!r}, expected keys and values")
    try:
        return make(cast("Mapping[str, Any]", row))
    except KeyError as error:
        reason = f"it has no `{error.args[0]}`"
    except ValueError as error:
        reason = str(error)
    raise Problem(f"the row `{name}` of `{file.name}` cannot be used: {reason}")


def text(fields: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """Return a field that is a text; one that must be there unless it has a default."""
    if default is not None and fields.get(key) is None:
        return default
    value = fields[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"its `{key}` is {value!r}, expected a text")
    return value.strip()


def texts(fields: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a field that is a list of texts, with one at least."""
    value = fields[key]
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    if not rows or not all(isinstance(row, str) and row.strip() for row in rows):
        raise ValueError(f"its `{key}` is {value!r}, expected a list of texts")
    return tuple(row.strip() for row in rows)


def truth(fields: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """Return a field that is true or false."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise ValueError(f"its `{key}` is {value!r}, expected true or false")
    return value
