"""The structure of the text of a TPU executable: computations, arrays, and source lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tpustarter.probe.rehearse.collectives import HloInstruction, parse_lines
from tpustarter.probe.rehearse.hlo_text import measure_shape, parse_pairs

KEYS = {
    "StackFrames": "stack_frame_id",
    "FileLocations": "file_location_id",
    "FileNames": "file_name_id",
}
"""Tables that lead from an instruction to a line of a file, each with the key of its rows."""

# These are linear: a repeat ends at a character it cannot match, and none begins in the middle
# of such a run.
_ARRAY = re.compile(r"(?<!\w)\w+\[[^\[\]]*\](?:\{[^{}]*\})?")
NAME = re.compile(r"%([^\s,(){}]+)")


class HloArray(NamedTuple):
    """One array of an instruction's result, by its number among them."""

    line: HloInstruction
    leaf: int
    text: str
    asked: int
    laid_out: int


class HloComputation(NamedTuple):
    """Instructions by name, the root last; without one, the last is used as the root."""

    lines: dict[str, HloInstruction]
    root: HloInstruction


NOTHING = HloInstruction("", "", "", "", "")
Tables = Mapping[str, Mapping[str, Mapping[str, str]]]


def parse_computation(body: Iterable[str]) -> HloComputation:
    """Return the computation that consists of these lines."""
    lines = parse_lines(body)
    return HloComputation(lines, next(reversed(lines.values()), NOTHING))


def parse_arrays(line: HloInstruction, text: str) -> Iterator[HloArray]:
    """Yield the arrays of a shape, as results of an instruction."""
    for leaf, match in enumerate(_ARRAY.finditer(text)):
        if (size := measure_shape(match[0])) is not None:
            yield HloArray(line, leaf, match[0], *size)


def find_source_line(rest: str, tables: Tables) -> tuple[str, str]:
    """Return the operation and the `file:line` that an instruction was made from."""
    fields = parse_pairs(rest.partition(", metadata={")[2])
    for section, key in KEYS.items():
        fields |= tables.get(section, {}).get(fields.get(key, ""), {})
    file = fields.get("", "") or fields.get("source_file", "")
    line = fields.get("line", "") or fields.get("source_line", "")
    return fields.get("op_name", ""), f"{file}:{line}" if file else ""
