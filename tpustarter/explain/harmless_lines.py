"""Lines that programs print in good runs, too, although they have the words of a failure."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from tpustarter.core import yaml_rows
from tpustarter.core.json_values import is_array
from tpustarter.core.problem import Problem
from tpustarter.core.yaml_rows import Text

FILE = Path(__file__).with_name("harmless_lines.yml")


class HarmlessLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line that shows no failure, by a pattern that is searched for in it."""

    id: Text
    pattern: Text
    source: Text
    read: Text


@functools.cache
def read_harmless_lines(file: Path = FILE) -> tuple[HarmlessLine, ...]:
    """Read the lines; raise Problem if a row is invalid."""
    table = yaml_rows.load_yaml(file)
    if not is_array(table):
        raise Problem(f"`{file.name}` holds no list of lines")
    return tuple(
        yaml_rows.convert_row(row, HarmlessLine, str(number), file)
        for number, row in enumerate(table, 1)
    )
