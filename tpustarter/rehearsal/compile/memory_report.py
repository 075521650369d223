"""Parser of the TPU compiler's report on what filled the memory of a device.

The compiler writes it to its log when a program does not fit (libtpu 0.0.50.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

from tpustarter.rehearsal.result_fields import ProgramArray

MOST_BYTES = 4 * 2**20
"""Most bytes that are read, from the end of the log."""
MOST_BUFFERS = 8

_UNITS = {"B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)([BKMGT])"
_TOTAL = re.compile(rf"Used {_SIZE} of {_SIZE} hbm\. Exceeded hbm capacity by {_SIZE}")
_PART = re.compile(rf"^ +(reserved|program|arguments) +{_SIZE}", re.MULTILINE)
_NEXT = re.compile(r"^[IWEF]\d{4} [\d:.]+ ", re.MULTILINE)
"""The start of the next log message, which may be a report on the host's memory."""
_OUTPUT = re.compile(rf"^Output size {_SIZE}; shares {_SIZE}", re.MULTILINE)
_ARGUMENT = re.compile(r"Argument (\d{1,9}) index \{(\d{0,9})\}")
"""The label of an argument; a program with thousands of them takes one tuple of all."""
_KINDS = {"argument": "argument", "output": "output"}


class MemoryReport(TypedDict, total=False):
    """The report as fields of a result; empty if the log has none."""

    hbm_bytes: int
    """Memory that the program needs on one device."""
    excess_bytes: int
    memory: dict[str, int]
    """Bytes by use."""
    buffers: list[ProgramArray]
    """The largest arrays."""


def parse_memory_report(text: str, names: Sequence[str] = ()) -> MemoryReport:
    """Parse the last report in a log.

    Args:
        text: The log.
        names: The program's argument names, in the order of the report's numbers; empty if unknown.
    """
    totals = list(_TOTAL.finditer(text))
    if not totals:
        return {}
    last = totals[-1]
    report = _NEXT.split(text[last.start() :], maxsplit=1)[0]
    fields: MemoryReport = {
        "hbm_bytes": _bytes(last[1], last[2]),
        "excess_bytes": _bytes(last[5], last[6]),
    }
    parts = {match[1]: _bytes(match[2], match[3]) for match in _PART.finditer(report)}
    if parts:
        output = _OUTPUT.search(report)
        fields["memory"] = {
            "arguments": parts.get("arguments", 0),
            "outputs": _bytes(output[1], output[2]) if output else 0,
            "aliased": _bytes(output[3], output[4]) if output else 0,
            "temporaries": parts.get("program", 0),
            "code": 0,
            "reserved": parts.get("reserved", 0),
        }
    buffers = _buffers(report, names)
    if buffers:
        fields["buffers"] = sorted(buffers, key=lambda item: -item["laid_out_bytes"])[:MOST_BUFFERS]
    return fields


def _buffers(report: str, names: Sequence[str]) -> list[ProgramArray]:
    # Each array is described in lines of `Name: value`.
    buffers: list[ProgramArray] = []
    for entry in re.split(r"^ +={10,}$", report, flags=re.MULTILINE):
        lines = dict(re.findall(r"^ +(?:\d+\. )?([A-Z][\w ]*): (.+)$", entry, re.MULTILINE))
        size = re.fullmatch(_SIZE, lines.get("Size", ""))
        if not size or lines.get("Shape", "(").startswith("("):  # a tuple's table
            continue
        shape, brace, layout = lines["Shape"].partition("{")
        label = lines.get("XLA label", "")
        unpadded = re.match(_SIZE, lines.get("Unpadded size", ""))
        op = re.search(r'op_name="([^"]*)"', lines.get("Operator", ""))
        kind = label.split(" ", 1)[0].casefold()
        laid_out = _bytes(size[1], size[2])
        buffers.append(
            {
                "name": label.split(" = ", 1)[0],
                "kind": _KINDS.get(kind, "temporary"),
                "shape": shape,
                "layout": brace + layout,
                "asked_bytes": _bytes(unpadded[1], unpadded[2]) if unpadded else laid_out,
                "laid_out_bytes": laid_out,
                "op": op[1] if op else _name(label, names),
                "source": "",
            }
        )
    return buffers


def _name(label: str, names: Sequence[str]) -> str:
    match = _ARGUMENT.match(label)
    number = int(match[2] or match[1]) if match else len(names)
    return names[number] if number < len(names) else ""


def _bytes(number: str, unit: str) -> int:
    return round(float(number) * _UNITS[unit])
