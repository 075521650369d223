"""Read the text of a TPU executable: its arrays, their padding, collectives and dots.

The text is what `jax.jit(f).lower(...).compile().as_text()` returns. It may be 100 MB long and it
may be anything: a line that is not understood is skipped, and nothing here takes more than a few
passes over a line. What was seen of the format was seen in jax 0.12.0.1 with libtpu 0.0.50.1.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tpustarter.probe.hlo_text import (
    Line,
    blocks,
    closing,
    instruction,
    integers,
    pairs,
    sizes,
    space,
)

COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-broadcast",
               "collective-permute", "ragged-all-to-all", "reduce-scatter")  # fmt: skip

KERNELS = ("tpu_custom_call",)
"""Targets of custom calls whose code came with the program: Pallas and Mosaic kernels.
Every other target seen (X64Combine, AllocateBuffer, Cholesky, ...) is the compiler's own.
Source: github.com/jax-ml/jax jax/_src/tpu_custom_call.py (read 2026-11)."""

PASSED_ON = frozenset({"bitcast", "opt-barrier", "while"})
"""Instructions whose result is their first operand's memory."""

NO_MEMORY = PASSED_ON | {"get-tuple-element", "parameter", "recv", "send", "tuple"}
"""Instructions whose result is memory of another one. So are halves called `-start` and
`-update`: their `-done` has the result."""

_KEYS = {
    "StackFrames": "stack_frame_id",
    "FileLocations": "file_location_id",
    "FileNames": "file_name_id",
}
"""The tables that lead from an instruction to a line of a file, and by which key."""

_PRECISIONS = ("default", "high", "highest")
_STEPS = 16
"""How far the memory of a result is followed from instruction to instruction."""

# Each of these is linear: what repeats ends at a character it cannot take, and none begins in the
# middle of such a run.
_ARRAY = re.compile(r"(?<!\w)\w+\[[^\[\]]*\](?:\{[^{}]*\})?")
_NAME = re.compile(r"%([^\s,(){}]+)")
_RUNS = re.compile(r"\b(?:body|condition|(?:true|false)_computation|to_apply)=%([\w.-]+)")
_ALIAS = re.compile(r"(?:, )?\{(\d*)(?:,[^{}]*)?\}: \((\d+), \{[^{}]*\}\)")
_GROUP = re.compile(r'"indices":\[([^\[\]]*)\]')


@dataclass(frozen=True)
class Value:
    """An array in the program's memory, on one device."""

    name: str
    """Name of the instruction, with the number of its result where it has several: `fusion{1}`."""
    kind: str
    """`argument`, `output` or `temporary`."""
    shape: str
    layout: str
    """As the compiler writes it, such as `{0,1:T(8,128)}`."""
    asked_bytes: int
    """Elements times the bits of one, in whole bytes."""
    laid_out_bytes: int
    """With the padding of its tiles."""
    op: str
    """The operation of the source program, such as `jit(step)/dot_general`; empty is unknown."""
    source: str
    """File and line of that operation, such as `train.py:12`; empty is unknown."""

    @property
    def in_hbm(self) -> bool:
        """Whether it lies in the chip's main memory, not in a smaller one or on the host."""
        return space(self.layout) == 0


@dataclass(frozen=True)
class Collective:
    """Instructions of one kind and one origin that exchange data between devices."""

    op: str
    count: int
    """Instructions: the body of a loop counts once."""
    bytes: int
    """Laid out results on one device, of all `count`."""
    op_name: str
    source: str


@dataclass(frozen=True)
class Dot:
    """Matrix products and convolutions of the same types."""

    left: str
    right: str
    out: str
    precision: str
    """`default`, `high` or `highest`."""
    count: int


@dataclass(frozen=True)
class Program:
    """What one executable does on one device."""

    name: str
    arguments: tuple[Value, ...]
    outputs: tuple[Value, ...]
    values: tuple[Value, ...]
    """The biggest temporaries in HBM, biggest first."""
    collectives: tuple[Collective, ...]
    """Those with most bytes first."""
    dots: tuple[Dot, ...]
    loops: int
    kernels: tuple[str, ...]
    """Targets of the custom calls that are hand-written kernels, each once."""


class _Array(NamedTuple):
    """One array of an instruction's result, by its number among them."""

    line: Line
    leaf: int
    text: str
    asked: int
    laid_out: int


class _Computation(NamedTuple):
    """Instructions by name; the last one is the root or stands for it."""

    lines: dict[str, Line]
    root: Line


_NOTHING = Line("", "", "", "", "")
_Tables = Mapping[str, Mapping[str, Mapping[str, str]]]


def read(text: str, largest: int = 8) -> Program:
    """Return what the first module of a text says, with at most `largest` temporaries."""
    header, entry = "", _Computation({}, _NOTHING)
    tables: dict[str, dict[str, dict[str, str]]] = {}
    computations: dict[str, _Computation] = {}
    for heading, body in blocks(text):
        if heading.startswith("HloModule "):
            if header:
                break
            header = heading
        elif heading in _KEYS:
            rows = (line.partition(" ") for line in body)
            tables[heading] = {row[0]: pairs(row[2].lstrip("{")) for row in rows}
        elif heading.endswith("{"):
            name = heading.removeprefix("ENTRY ").partition(" ")[0].lstrip("%")
            computations[name] = _computation(body)
            if heading.startswith("ENTRY "):
                entry = computations[name]
    every = [line for part in computations.values() for line in part.lines.values()]
    temporaries = (array for part in _running(entry, computations) for array in _new(part))
    biggest = heapq.nlargest(largest, temporaries, key=lambda array: array.laid_out)
    arguments, outputs = _layouts(header)
    return Program(
        name=header.removeprefix("HloModule ").partition(",")[0],
        arguments=_values("argument", _arguments(entry, arguments), tables),
        outputs=_values("output", _owners(entry, outputs), tables),
        values=_values("temporary", biggest, tables),
        collectives=_collectives(computations, tables),
        dots=_dots(computations.values()),
        loops=sum(line.op == "while" for line in every),
        kernels=tuple(dict.fromkeys(target for line in every if (target := _kernel(line)))),
    )


def _computation(body: Iterable[str]) -> _Computation:
    lines: dict[str, Line] = {}
    root = line = _NOTHING
    for text in body:
        if found := instruction(text.strip().removeprefix("ROOT ")):
            line = lines[found.name] = found
            root = line if text.lstrip().startswith("ROOT ") else root
    return _Computation(lines, root if root.name else line)


def _arrays(line: Line, text: str) -> Iterator[_Array]:
    """Yield the arrays of a shape, as results of an instruction."""
    for leaf, found in enumerate(_ARRAY.finditer(text)):
        if (size := sizes(found[0])) is not None:
            yield _Array(line, leaf, found[0], *size)


def _new(computation: _Computation) -> Iterator[_Array]:
    """Yield the arrays in HBM that are there only while a computation runs.

    Its root lies where the caller wants it: in a loop, where the loop began.
    """
    owned = {(array.line.name, array.leaf) for array in _owners(computation)}
    for line in computation.lines.values():
        if line.op in NO_MEMORY or line.op.endswith(("-start", "-update")):
            continue
        arrays = [array for array in _arrays(line, line.shape) if array.laid_out]
        arrays = [array for array in arrays if space(array.text) == 0]
        aliases = _aliases(line) if arrays else {}
        for array in arrays:
            if array.leaf not in aliases and (line.name, array.leaf) not in owned:
                yield array


def _aliases(line: Line) -> dict[int, int]:
    """Return the results that lie in the memory of an operand: number of result to of operand.

    The compiler's own settings number the results after the operands.
    """
    count = line.operands.count("%")
    aliases: dict[int, int] = {}
    at = line.rest.rfind('"aliasing_operands":')
    for group in _GROUP.findall(line.rest, at) if at >= 0 else []:
        numbers = integers(group.replace('"', "")) or [count]
        aliases |= {number - count: min(numbers) for number in numbers if min(numbers) < count}
    _, key, attributes = line.rest.partition("output_to_operand_aliasing={")
    found = _ALIAS.match(attributes) if key else None
    while found:
        aliases[int(found[1][:9] or 0)] = int(found[2][:9])
        found = _ALIAS.match(attributes, found.end())
    return aliases


def _running(entry: _Computation, others: Mapping[str, _Computation]) -> list[_Computation]:
    """Return the computations that are not part of one instruction, beginning with the entry."""
    running = [entry]
    seen: set[str] = set()
    for computation in running:
        for line in computation.lines.values():
            if line.op not in {"while", "conditional", "call"}:
                continue
            attributes = line.rest.partition(", metadata={")[0]
            branches = attributes.partition("branch_computations={")[2].partition("}")[0]
            called = {*_RUNS.findall(attributes), *_NAME.findall(branches)} - seen
            seen |= called
            running += [others[name] for name in sorted(called) if name in others]
    return running


def _layouts(header: str) -> tuple[str, str]:
    """Return the shapes of the arguments and of the results, from the first line of a module."""
    _, _, layout = header.partition("entry_computation_layout=")
    layout = layout[: max(closing(layout, 0), 0)]
    end = max(closing(layout, layout.find("(")), 0)
    return layout[:end], layout[end:].removeprefix("->")


def _arguments(entry: _Computation, text: str) -> Iterator[_Array]:
    """Yield the arguments; a program with thousands of them has one, a tuple of all."""
    lines = entry.lines.values()
    parameters = {line.operands: line for line in lines if line.op == "parameter"}
    first = parameters.get("0", _NOTHING)
    for array in _arrays(_NOTHING, text):
        if first.shape.startswith("("):
            yield array._replace(line=first)
        else:
            yield array._replace(line=parameters.get(str(array.leaf), _NOTHING), leaf=0)


def _owners(computation: _Computation, text: str = "") -> Iterator[_Array]:
    """Yield the results of a computation, each with the instruction whose memory it lies in."""
    known: dict[str, tuple[list[str], dict[int, int]]] = {}
    for array in _arrays(computation.root, text or computation.root.shape):
        line, leaf = array.line, array.leaf
        for _ in range(_STEPS):
            if line.name not in known:
                known[line.name] = _NAME.findall(line.operands), _aliases(line)
            operands, aliases = known[line.name]
            at, inner = 0, leaf
            if line.op == "tuple":
                at, inner = leaf, 0
            elif line.op == "get-tuple-element":
                index = line.rest.partition(" index=")[2].partition(",")[0]
                inner = (integers(index) or [0])[0]
            elif line.op not in PASSED_ON:
                at, inner = aliases.get(leaf, len(operands)), 0
            owner = computation.lines.get(operands[at]) if at < len(operands) else None
            if owner is None:
                break
            line, leaf = owner, inner
        yield array._replace(line=line, leaf=leaf)


def _values(kind: str, arrays: Iterable[_Array], tables: _Tables) -> tuple[Value, ...]:
    """Return arrays with the place in the source program they come from."""
    values: list[Value] = []
    for line, leaf, text, asked, laid_out in arrays:
        shape, _, layout = text.partition("]")
        name = f"{line.name}{{{leaf}}}" if line.shape.startswith("(") else line.name
        place = _place(line.rest, tables)
        values.append(Value(name, kind, shape + "]", layout, asked, laid_out, *place))
    return tuple(values)


def _place(rest: str, tables: _Tables) -> tuple[str, str]:
    """Return the operation and the file and line that an instruction was made from."""
    found = pairs(rest.partition(", metadata={")[2])
    for section, key in _KEYS.items():
        found |= tables.get(section, {}).get(found.get(key, ""), {})
    file = found.get("", "") or found.get("source_file", "")
    line = found.get("line", "") or found.get("source_line", "")
    return found.get("op_name", ""), f"{file}:{line}" if file else ""


def _collectives(
    computations: Mapping[str, _Computation], tables: _Tables
) -> tuple[Collective, ...]:
    """Return the collectives of all computations, by kind and origin.

    A pair of `-start` and `-done` counts by its `-done`, which has the result. A fusion with a
    collective may be the beginning, a step or the end of it: there, one channel is one collective.
    The fusion `all-reduce-scatter` keeps a part of an all-reduce.
    """
    every = [line for part in computations.values() for line in part.lines.values()]
    fusions = {_after(line.rest, " calls=%"): line for line in every if line.op == "fusion"}
    channels: set[str] = set()
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for name, computation in computations.items():
        fusion = fusions.get(name)
        for line in computation.lines.values():
            op, origin = line.op.removesuffix("-done"), line
            channel = _after(line.rest, " channel_id=") if fusion else ""
            if op not in COLLECTIVES or channel in channels:
                continue
            channels |= {channel} - {""}
            if fusion and name.startswith("all-reduce-scatter"):
                op, origin = "reduce-scatter", fusion
            moved = sum(array.laid_out for array in _arrays(origin, origin.shape))
            key = (op, *_place(origin.rest, tables))
            count, total = found.get(key, (0, 0))
            found[key] = (count + 1, total + moved)
    groups = [Collective(key[0], *counted, *key[1:]) for key, counted in found.items()]
    return tuple(sorted(groups, key=lambda group: -group.bytes))


def _after(text: str, key: str) -> str:
    """Return what stands between a key and the next comma."""
    return text.partition(key)[2].partition(",")[0]


def _dots(computations: Iterable[_Computation]) -> tuple[Dot, ...]:
    """Return the products of all computations, by the types that stand in their own."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for computation in computations:
        for line in computation.lines.values():
            if line.op not in {"dot", "convolution"}:
                continue
            operands = [*_NAME.findall(line.operands), "", ""][:2]
            lines = [computation.lines.get(name, _NOTHING) for name in operands]
            left, right, out = (one.shape.partition("[")[0] for one in (*lines, line))
            asked = line.rest.partition("operand_precision={")[2].partition("}")[0].split(",")
            precision = max(_PRECISIONS.index(one) if one in _PRECISIONS else 0 for one in asked)
            found[left, right, out, _PRECISIONS[precision]] += 1
    return tuple(Dot(*key, count=count) for key, count in found.items())


def _kernel(line: Line) -> str:
    """Return the target of a hand-written kernel, or nothing.

    Kernels the compiler adds on its own carry a bare name, such as `online-softmax`.
    """
    target = line.rest.partition('custom_call_target="')[2].partition('"')[0]
    if line.op != "custom-call" or target not in KERNELS:
        return ""
    op_name = pairs(line.rest.partition(", metadata={")[2]).get("op_name", "/")
    return target if "/" in op_name else ""
