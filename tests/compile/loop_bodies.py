"""Count what one iteration of a compiled loop does: matmuls, HBM bytes and collectives.

The rule to know: an instruction of the body reads its operands and writes its result, and what
happens inside a fusion stays on the chip. What starts something is counted, what waits for it is
not. What an operation moves that nobody looked at yet is not guessed: its name is told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from tpustarter.probe.rehearse.collectives import (
    HloInstruction,
    parse_instruction,
    split_sections,
)
from tpustarter.probe.rehearse.hlo_text import (
    count_shape_bytes,
    parse_integers,
    parse_memory_space,
)

FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "iota"}
"""Operations that move nothing."""

PLAIN = {
    "fusion",
    "copy",
    "reverse",
    "add",
    "multiply",
    "subtract",
    "convert",
    "dot",
    "convolution",
    "slice",
    "reshape",
    "transpose",
    "broadcast",
    "concatenate",
    "pad",
    "reduce",
    "dynamic-slice",
    "dynamic-update-slice",
    "compare",
    "select",
}
"""Operations that read all of their operands and write all of their result."""

STARTS, ENDS = {"copy-start", "slice-start"}, {"copy-done", "slice-done"}

SMALL = 2**16
"""Arrays with fewer bytes are not counted: a number in a tile, the first rows of something."""

_ARRAY = re.compile(r"\w+\[[^\]]*\](?:\{[^}]*\})?")

Computations = dict[str, dict[str, HloInstruction]]


COLLECTIVES = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"}


class Round(NamedTuple):
    """The work of one round on one device."""

    operations: int
    """Multiplications and additions of matrix products."""
    read: int
    """Bytes read from HBM."""
    written: int
    exchanges: tuple[tuple[str, int], ...]
    """Each collective, with the bytes of the larger of what it takes and what it gives."""
    kept: tuple[str, ...]
    """Large arrays that lie in a smaller memory."""
    unknown: tuple[str, ...]
    """Operations of which nobody said what they move."""


def computations(text: str) -> Computations:
    """Return the instructions of each computation by name, without those of the loop's tables."""
    result: Computations = {}
    for heading, body in split_sections(text):
        name = heading.removeprefix("ENTRY ").partition(" ")[0].lstrip("%")
        lines = (parse_instruction(line.strip().removeprefix("ROOT ")) for line in body)
        result[name] = {line.name: line for line in lines if line}
    return result


def read(text: str) -> Round | None:
    """Return the work of the one loop in a compiled program; None where there is no loop left."""
    program = computations(text)
    loops = [line for body in program.values() for line in body.values() if line.op == "while"]
    if not loops:
        return None
    [loop] = loops
    body = program[_called(loop, "body")]
    counted = [line for line in body.values() if line.op not in FREE]
    traffic = [_traffic(line, body) for line in counted]
    kept = [
        shape
        for line in body.values()
        for shape in _ARRAY.findall(line.shape)
        if parse_memory_space(shape) and _bytes(shape, anywhere=True)
    ]
    return Round(
        sum(_operations(line, body, program) for line in counted),
        sum(read for read, _ in traffic),
        sum(written for _, written in traffic),
        tuple(exchange for line in counted for exchange in _exchanges(line, body, program)),
        tuple(kept),
        tuple(line.op for line in counted if line.op not in PLAIN | STARTS | ENDS),
    )


def _called(line: HloInstruction, key: str) -> str:
    match = re.search(rf"\b{key}=%?([\w.\-]+)", line.rest)
    return match[1] if match else ""


def _operands(line: HloInstruction, body: dict[str, HloInstruction]) -> list[HloInstruction]:
    names = re.findall(r"%([\w.\-]+)", line.operands)
    return [body[name] for name in names if name in body]


def _bytes(shape: str, *, anywhere: bool = False) -> int:
    """Return the bytes an array takes in the large memory; nothing for a small one."""
    _, laid_out = count_shape_bytes(shape) or (0, 0)
    return laid_out if laid_out >= SMALL and (anywhere or not parse_memory_space(shape)) else 0


def _traffic(line: HloInstruction, body: dict[str, HloInstruction]) -> tuple[int, int]:
    """Return the bytes that an instruction reads from and writes to the large memory."""
    if line.op not in PLAIN | STARTS:
        return 0, 0
    results = _ARRAY.findall(line.shape)
    sources = [
        _bytes(shape)
        for operand in _operands(line, body)
        for shape in _ARRAY.findall(operand.shape)
    ]
    if line.op == "copy-start":
        return _bytes(results[1]), _bytes(results[0])
    if line.op == "slice-start":
        part = _bytes(results[1], anywhere=True)
        return part * bool(sources[0]), _bytes(results[1])
    return sum(sources), sum(map(_bytes, results))


def _operations(
    line: HloInstruction, body: dict[str, HloInstruction], program: Computations
) -> int:
    """Return the operations of the products in an instruction and in what it calls."""
    if line.op in ("dot", "convolution"):
        return 2 * math.prod(_dimensions(line.shape)) * _summed(line, _operands(line, body))
    called = program.get(_called(line, "calls"), {}) | program.get(_called(line, "to_apply"), {})
    return sum(_operations(inner, called, program) for inner in called.values())


def _exchanges(
    line: HloInstruction, body: dict[str, HloInstruction], program: Computations
) -> Iterator[tuple[str, int]]:
    """Yield the collectives in an instruction and in what it calls."""
    op = line.op.removesuffix("-start")
    if op in COLLECTIVES:
        shapes = [line.shape, *(operand.shape for operand in _operands(line, body))]
        pairs = [
            count_shape_bytes(shape) or (0, 0) for text in shapes for shape in _ARRAY.findall(text)
        ]
        yield op, max(nbytes for nbytes, _ in pairs)
        return
    if op == "conditional":
        yield from _of_any_branch(line, program)
        return
    called = program.get(_called(line, "calls"), {}) | program.get(_called(line, "to_apply"), {})
    for inner in called.values():
        yield from _exchanges(inner, called, program)


def _of_any_branch(line: HloInstruction, program: Computations) -> Iterator[tuple[str, int]]:
    """Yield the collectives that every branch has, or how many kinds of branches there are."""
    listed = re.search(r"branch_computations=\{([^}]*)\}", line.rest)
    names = re.findall(r"%?([\w.\-]+)", listed[1]) if listed else []
    names = names or [_called(line, f"{word}_computation") for word in ("true", "false")]
    found = {
        tuple(
            exchange
            for inner in program[name].values()
            for exchange in _exchanges(inner, program[name], program)
        )
        for name in names
    }
    yield from found.pop() if len(found) == 1 else [("branches that differ", len(found))]


def _summed(line: HloInstruction, operands: list[HloInstruction]) -> int:
    """Return the number of products that are summed for each element of the result."""
    lhs, rhs = (_dimensions(operand.shape) for operand in operands)
    if line.op == "dot":
        axes = parse_integers(re.findall(r"lhs_contracting_dims=\{([\d,]*)\}", line.rest)[0]) or []
        return math.prod(lhs[axis] for axis in axes)
    [kernel] = re.findall(r"dim_labels=\w+_(\w+)->", line.rest)
    return math.prod(size for size, label in zip(rhs, kernel, strict=True) if label != "o")


def _dimensions(shape: str) -> list[int]:
    return parse_integers(shape.partition("[")[2].partition("]")[0]) or []
