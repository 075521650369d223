"""The structure of a TPU executable's text: computations, arrays and source lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tpustarter.probe.rehearse.collectives import HloInstruction, parse_instructions
from tpustarter.probe.rehearse.hlo_text import count_shape_bytes, parse_hlo_pairs

KEYS = {
    "StackFrames": "stack_frame_id",
    "FileLocations": "file_location_id",
    "FileNames": "file_name_id",
}
"""Tables that lead from an instruction to its source line, with the field that refers to a row."""

UNNAMED = "XLA_Args"
"""The text that TensorFlow writes in place of each argument's name."""

# These run in linear time: no repeat can match the character that ends it, and no match begins in
# the middle of such a run.
_ARRAY = re.compile(r"(?<!\w)\w+\[[^\[\]]*\](?:\{[^{}]*\})?")
NAME = re.compile(r"%([^\s,(){}]+)")


class HloArray(NamedTuple):
    """One array of an instruction's result; `leaf` is its index in that result."""

    line: HloInstruction
    leaf: int
    text: str
    unpadded: int
    laid_out: int


class HloComputation(NamedTuple):
    """Instructions by name, the root last; without a marked root, the last one is used."""

    lines: dict[str, HloInstruction]
    root: HloInstruction


NOTHING = HloInstruction("", "", "", "", "")
Tables = Mapping[str, Mapping[str, Mapping[str, str]]]


def parse_computation(body: Iterable[str]) -> HloComputation:
    """Parse a computation from its lines."""
    lines = parse_instructions(body)
    return HloComputation(lines, next(reversed(lines.values()), NOTHING))


def parse_arrays(line: HloInstruction, text: str) -> Iterator[HloArray]:
    """Yield the arrays in a shape, as results of an instruction."""
    for leaf, match in enumerate(_ARRAY.finditer(text)):
        if (size := count_shape_bytes(match[0])) is not None:
            yield HloArray(line, leaf, match[0], *size)


def find_source_line(rest: str, tables: Tables) -> tuple[str, str]:
    """Return the source operation and the `file:line` of an instruction."""
    fields = parse_hlo_pairs(rest.partition(", metadata={")[2])
    for section, key in KEYS.items():
        fields |= tables.get(section, {}).get(fields.get(key, ""), {})
    file = fields.get("", "") or fields.get("source_file", "")
    line = fields.get("line", "") or fields.get("source_line", "")
    operation = fields.get("op_name", "")
    return "" if operation == UNNAMED else operation, f"{file}:{line}" if file else ""
