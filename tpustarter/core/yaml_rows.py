"""Read YAML data files into typed structures, with one clear error for anything invalid."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from tpustarter.core import cache, content, locations
from tpustarter.core.json_values import as_object, is_array, is_object
from tpustarter.core.problem import Problem

Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A non-empty string."""
Texts = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
"""At least one non-empty string."""

_Row = TypeVar("_Row")
_PLACE = re.compile(r"^(?P<reason>.*?)(?: - at `\$\.?(?P<place>(?P<field>\w*).*)`)?$", re.DOTALL)
"""An error message of msgspec: the reason, and the path to the value."""


def load_yaml(file: Path) -> object:
    """Read and parse a YAML file.

    Raises:
        Problem: It cannot be read or parsed.
    """
    try:
        text = locations.read_text(file)
        with cache.open_cache(f"table-{file.stem}", content.__file__) as known:
            return known.get_or_read(text.encode(), lambda: content.read_yaml(text))
    except (OSError, ValueError) as error:
        raise Problem(f"`{file.name}` cannot be read: {error}") from error


def convert_value(
    value: object, kind: type[_Row], special: Callable[[type, object], object] | None = None
) -> _Row:
    """Convert a value from a YAML file to a type.

    Strings are stripped, and dates are read as strings.

    Args:
        value: The parsed YAML.
        kind: The expected type.
        special: Converts to types that YAML does not have; raises ValueError.

    Raises:
        ValueError: The value does not fit; the message names the field.
    """
    plain = _plain(value)
    try:
        return msgspec.convert(plain, kind, dec_hook=special)
    except msgspec.ValidationError as error:
        raise ValueError(_reason(str(error), plain, kind)) from error


def convert_row(
    row: object,
    kind: type[_Row],
    name: str,
    file: Path,
    special: Callable[[type, object], object] | None = None,
) -> _Row:
    """Convert a row of a YAML file to a type.

    Args:
        row: The parsed row.
        kind: The expected type.
        name: The row's name in messages.
        file: The row's file.
        special: See `convert_value`.

    Raises:
        Problem: The row does not fit; the message names it and the reason.
    """
    if not is_object(row):
        raise Problem(f"the row `{name}` of `{file.name}` is {row!r}, expected keys and values")
    try:
        return convert_value(row, kind, special)
    except ValueError as error:
        raise Problem(f"the row `{name}` of `{file.name}` cannot be used: {error}") from error


def read_rows(
    file: Path, kind: type[_Row], special: Callable[[type, object], object] | None = None
) -> tuple[_Row, ...]:
    """Return the rows of a YAML file that holds one list; raises Problem if a row does not fit.

    A message names a row by its `id`, or else by its number. `special`: see `convert_value`.
    """
    rows = load_yaml(file)
    if not is_array(rows):
        raise Problem(f"`{file.name}` has {type(rows).__name__}, expected a list of rows")
    return tuple(
        convert_row(row, kind, str(as_object(row).get("id") or number), file, special)
        for number, row in enumerate(rows, 1)
    )


def read_table(file: Path, kind: type[_Row]) -> dict[str, _Row]:
    """Return the rows of a YAML file by their keys; raises Problem if a row does not fit."""
    rows = load_yaml(file)
    if not is_object(rows):
        raise Problem(f"`{file.name}` holds no rows")
    return {str(name): convert_row(row, kind, str(name), file) for name, row in rows.items()}


def _plain(value: object) -> object:
    if is_object(value):
        return {str(key): _plain(one) for key, one in value.items()}
    if is_array(value):
        return [_plain(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    return value.strip() if isinstance(value, str) else value


def _reason(said: str, value: object, kind: type) -> str:
    match = _PLACE.match(said)
    reason, place, field = match.group("reason", "place", "field") if match else (said, "", "")
    reason = reason[:1].lower() + reason[1:]
    if not is_object(value) or field not in value:
        return f"{reason} in `{place}`" if place else reason
    choices = get_type_hints(kind).get(field)
    if get_origin(choices) is Literal:
        reason = f"expected one of {', '.join(map(str, get_args(choices)))}"
    inner = "" if place == field else f" in `{place}`"
    return f"its `{field}` is {value[field]!r}, {reason}{inner}"
