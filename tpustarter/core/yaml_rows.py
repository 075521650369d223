"""Reading of data files into typed structures: what does not fit is one clear error."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from tpustarter.core import cache, content, locations
from tpustarter.core.json_values import is_array, is_object
from tpustarter.core.problem import Problem

Text = Annotated[str, msgspec.Meta(min_length=1)]
"""A text that is not empty."""
Texts = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
"""At least one text."""

_Row = TypeVar("_Row")
_PLACE = re.compile(r"^(?P<reason>.*?)(?: - at `\$\.?(?P<place>(?P<field>\w*).*)`)?$", re.DOTALL)
"""An error of msgspec: the reason, and the place in the value."""


def load_yaml(file: Path) -> object:
    """Read and parse a YAML file; raises Problem if that fails."""
    try:
        text = locations.read_text(file)
        with cache.open_cache(f"table-{file.stem}", content.__file__) as known:
            return known.get_or_read(text.encode(), lambda: content.read_yaml(text))
    except (OSError, ValueError) as error:
        raise Problem(f"`{file.name}` cannot be read: {error}") from error


def convert_value(
    value: object, kind: type[_Row], special: Callable[[type, object], object] | None = None
) -> _Row:
    """Return the structure that a value of a YAML file holds; raises ValueError with the field.

    Spaces around texts do not count, and a date is read as text.

    Args:
        value: As YAML has it.
        kind: The type that is expected.
        special: Returns the value of a type that YAML does not have; raises ValueError.
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
    """Return the structure of a row; raises Problem with the row's name and what is wrong.

    Args:
        row: The value in the file.
        kind: The type that is expected.
        name: Name of the row in messages.
        file: The file of the row.
        special: As `convert_value` takes it.
    """
    if not is_object(row):
        raise Problem(f"the row `{name}` of `{file.name}` is {row!r}, expected keys and values")
    try:
        return convert_value(row, kind, special)
    except ValueError as error:
        raise Problem(f"the row `{name}` of `{file.name}` cannot be used: {error}") from error


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
