"""Parser of a TPU executable's HLO text: its arrays, padding, collectives and dots.

The text comes from `jax.jit(f).lower(...).compile().as_text()`. It may be 100 MB long and hold
anything: a line that is not understood is skipped, and each line is passed over only a few times.
The format was observed with jax 0.12.0.1 and libtpu 0.0.50.1.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tpustarter.probe.rehearse.collectives import (
    DCN,
    HloInstruction,
    count_partitions,
    find_collectives,
    split_sections,
)
from tpustarter.probe.rehearse.hlo_memory import (
    entry_shapes,
    list_arguments,
    list_called_computations,
    list_run_computations,
    results_with_owners,
    temporary_arrays,
)
from tpustarter.probe.rehearse.hlo_module import (
    KEYS,
    NAME,
    NOTHING,
    HloArray,
    HloComputation,
    Tables,
    find_source_line,
    parse_arrays,
    parse_computation,
)
from tpustarter.probe.rehearse.hlo_text import parse_hlo_pairs

KERNELS = ("tpu_custom_call",)
"""Targets of custom calls whose code comes with the program: Pallas and Mosaic kernels. Every other
target observed (X64Combine, AllocateBuffer, Cholesky, ...) is the compiler's own. Source:
github.com/jax-ml/jax jax/_src/tpu_custom_call.py (read 2026-11)."""

_PRECISIONS = ("default", "high", "highest")


@dataclass(frozen=True)
class HloBuffer:
    """An array in the program's memory, on one device."""

    name: str
    """Name of the instruction, with the index of its result if it has several: `fusion{1}`."""
    kind: str
    """`argument`, `output` or `temporary`."""
    shape: str
    layout: str
    """The compiler's notation, such as `{0,1:T(8,128)}`."""
    unpadded_bytes: int
    """Size without padding: elements times bits per element, in whole bytes."""
    laid_out_bytes: int
    """Size with the padding of its tiles."""
    op: str
    """Operation of the source program, such as `jit(step)/dot_general`; empty if unknown."""
    source: str
    """The operation's file and line, such as `train.py:12`; empty if unknown."""


@dataclass(frozen=True)
class CollectiveGroup:
    """Collectives of the same kind and origin."""

    op: str
    count: int
    """Number of instructions; one in a loop body counts once."""
    bytes: int
    """Size of all their results on one device, with padding."""
    op_name: str
    source: str
    runs: int | None
    """Total number of runs; None in a branch or a loop without a static trip count."""
    group_size: int | None
    """Number of devices in a group, or of slices if `link` is `dcn`; None if unknown."""
    link: str
    """`ici` within a slice, or `dcn` between slices."""
    received_bytes: int | None
    """Fewest bytes that one device receives in all runs; None if unknown."""


@dataclass(frozen=True)
class DotGroup:
    """All matrix products and convolutions of a program with the same operand types."""

    left: str
    right: str
    out: str
    precision: str
    """`default`, `high` or `highest`."""
    count: int


@dataclass(frozen=True)
class HloProgram:
    """The contents of one executable, as it runs on one device."""

    name: str
    arguments: tuple[HloBuffer, ...]
    outputs: tuple[HloBuffer, ...]
    values: tuple[HloBuffer, ...]
    """The largest temporaries in HBM, largest first."""
    collectives: tuple[CollectiveGroup, ...]
    """Groups of collectives, those with most bytes first."""
    dots: tuple[DotGroup, ...]
    loops: int
    kernels: tuple[str, ...]
    """Custom-call targets of hand-written kernels, without duplicates."""
    complete: bool = False
    """True if the text is complete; what a truncated text lacks may still be in the program."""


def parse_program(text: str, largest: int = 8) -> HloProgram:
    """Parse the first module of an HLO text, keeping the `largest` biggest temporary arrays."""
    header, entry, main = "", HloComputation({}, NOTHING), ""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    computations: dict[str, HloComputation] = {}
    for heading, body in split_sections(text):
        if heading.startswith("HloModule "):
            if header:
                break
            header = heading
        elif heading in KEYS:
            rows = (line.partition(" ") for line in body)
            tables[heading] = {row[0]: parse_hlo_pairs(row[2].lstrip("{")) for row in rows}
        elif heading.endswith("{"):
            name = heading.removeprefix("ENTRY ").partition(" ")[0].lstrip("%")
            computations[name] = parse_computation(body)
            if heading.startswith("ENTRY "):
                entry, main = computations[name], name
    lines = [line for part in computations.values() for line in part.lines.values()]
    temporaries = (
        array
        for part in list_run_computations(entry, computations)
        for array in temporary_arrays(part)
    )
    biggest = heapq.nlargest(largest, temporaries, key=lambda array: array.laid_out)
    arguments, outputs = entry_shapes(header)
    return HloProgram(
        name=header.removeprefix("HloModule ").partition(",")[0],
        arguments=_values("argument", list_arguments(entry, arguments), tables),
        outputs=_values("output", results_with_owners(entry, outputs), tables),
        values=_values("temporary", biggest, tables),
        collectives=_collectives(computations, main, count_partitions(header), tables),
        dots=_dots(computations.values()),
        loops=sum(line.op == "while" for line in lines),
        kernels=tuple(dict.fromkeys(target for line in lines if (target := _kernel(line)))),
        complete=bool(header and entry.lines)
        and text.rstrip().endswith("\n}")
        and all(list_called_computations(line) <= computations.keys() for line in lines),
    )


def _values(kind: str, arrays: Iterable[HloArray], tables: Tables) -> tuple[HloBuffer, ...]:
    values: list[HloBuffer] = []
    for line, leaf, text, unpadded_bytes, laid_out_bytes in arrays:
        shape, _, layout = text.partition("]")
        name = f"{line.name}{{{leaf}}}" if line.shape.startswith("(") else line.name
        origin = find_source_line(line.rest, tables)
        values.append(
            HloBuffer(name, kind, shape + "]", layout, unpadded_bytes, laid_out_bytes, *origin)
        )
    return tuple(values)


def _collectives(
    computations: Mapping[str, HloComputation], main: str, partitions: int | None, tables: Tables
) -> tuple[CollectiveGroup, ...]:
    lines = {name: part.lines for name, part in computations.items()}
    groups: dict[tuple[str, str, str, int | None, str], CollectiveGroup] = {}
    for one in find_collectives(lines, main, partitions):
        origin = one.instruction
        arrays = list(parse_arrays(origin, origin.shape))
        laid_out = sum(array.laid_out for array in (arrays[:1] if one.link == DCN else arrays))
        op_name, source = find_source_line(origin.rest, tables)
        key = (one.kind, op_name, source, one.group_size, one.link)
        empty = CollectiveGroup(one.kind, 0, 0, op_name, source, 0, one.group_size, one.link, 0)
        group = groups.get(key, empty)
        received = one.received_bytes
        runs, all_received = one.runs, None
        if received is not None and runs is not None and group.received_bytes is not None:
            all_received = group.received_bytes + round(received * runs)
        groups[key] = replace(
            group,
            count=group.count + 1,
            bytes=group.bytes + laid_out,
            runs=None if runs is None or group.runs is None else group.runs + runs,
            received_bytes=all_received,
        )
    return tuple(sorted(groups.values(), key=lambda group: -group.bytes))


def _dots(computations: Iterable[HloComputation]) -> tuple[DotGroup, ...]:
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for computation in computations:
        for line in computation.lines.values():
            if line.op not in {"dot", "convolution"}:
                continue
            operands = [*NAME.findall(line.operands), "", ""][:2]
            lines = [computation.lines.get(name, NOTHING) for name in operands]
            left, right, out = (value.shape.partition("[")[0] for value in (*lines, line))
            names = line.rest.partition("operand_precision={")[2].partition("}")[0].split(",")
            precision = max(_PRECISIONS.index(name) if name in _PRECISIONS else 0 for name in names)
            counts[left, right, out, _PRECISIONS[precision]] += 1
    return tuple(DotGroup(*key, count=count) for key, count in counts.items())


def _kernel(line: HloInstruction) -> str:
    # Kernels that the compiler adds have a bare name, such as `online-softmax`.
    target = line.rest.partition('custom_call_target="')[2].partition('"')[0]
    if line.op != "custom-call" or target not in KERNELS:
        return ""
    op_name = parse_hlo_pairs(line.rest.partition(", metadata={")[2]).get("op_name", "/")
    return target if "/" in op_name else ""
