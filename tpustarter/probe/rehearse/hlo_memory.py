"""The arrays of a TPU executable that own memory, and those that share it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tpustarter.probe.rehearse.collectives import HloInstruction, find_closing_bracket
from tpustarter.probe.rehearse.hlo_module import (
    NAME,
    NOTHING,
    HloArray,
    HloComputation,
    parse_arrays,
)
from tpustarter.probe.rehearse.hlo_text import parse_integers, parse_memory_space

PASSED_ON = frozenset({"bitcast", "opt-barrier", "while"})
"""Instructions whose result reuses their first operand's memory."""

NO_MEMORY = PASSED_ON | {"get-tuple-element", "parameter", "recv", "send", "tuple"}
"""Instructions whose result is in another instruction's memory. The same holds for `-start` and
`-update` instructions, because the matching `-done` has the result."""

_STEPS = 16
"""Most instructions through which a result's memory is followed."""

# These run in linear time, as those of `hlo_module` do.
_CALLS = re.compile(r"\b(?:body|calls|condition|(?:true|false)_computation|to_apply)=%([\w.-]+)")
_RUNS = re.compile(r"\b(?:body|condition|(?:true|false)_computation|to_apply)=%([\w.-]+)")
_ALIAS = re.compile(r"(?:, )?\{(\d*)(?:,[^{}]*)?\}: \((\d+), \{[^{}]*\}\)")
_GROUP = re.compile(r'"indices":\[([^\[\]]*)\]')


def temporary_arrays(computation: HloComputation) -> Iterator[HloArray]:
    """Yield the arrays in HBM that exist only while a computation runs.

    The root's result is left out, because it is written to the caller's memory. In a loop, that is
    the memory of the initial values.
    """
    owned = {(array.line.name, array.leaf) for array in results_with_owners(computation)}
    for line in computation.lines.values():
        if line.op in NO_MEMORY or line.op.endswith(("-start", "-update")):
            continue
        arrays = [array for array in parse_arrays(line, line.shape) if array.laid_out]
        arrays = [array for array in arrays if parse_memory_space(array.text) == 0]
        aliases = _aliases(line) if arrays else {}
        for array in arrays:
            if array.leaf not in aliases and (line.name, array.leaf) not in owned:
                yield array


def _aliases(line: HloInstruction) -> dict[int, int]:
    # A result's index to the index of the operand whose memory it uses. In the compiler's
    # `aliasing_operands`, results are numbered after the operands.
    count = line.operands.count("%")
    aliases: dict[int, int] = {}
    start = line.rest.rfind('"aliasing_operands":')
    for group in _GROUP.findall(line.rest, start) if start >= 0 else []:
        numbers = parse_integers(group.replace('"', "")) or [count]
        aliases |= {number - count: min(numbers) for number in numbers if min(numbers) < count}
    _, key, attributes = line.rest.partition("output_to_operand_aliasing={")
    match = _ALIAS.match(attributes) if key else None
    while match:
        aliases[int(match[1][:9] or 0)] = int(match[2][:9])
        match = _ALIAS.match(attributes, match.end())
    return aliases


def list_called_computations(line: HloInstruction) -> set[str]:
    """Return the names of the computations that an instruction calls or consists of."""
    attributes = line.rest.partition(", metadata={")[0]
    return {*_CALLS.findall(attributes), *_branches(attributes)}


def _branches(attributes: str) -> list[str]:
    return NAME.findall(attributes.partition("branch_computations={")[2].partition("}")[0])


def list_run_computations(
    entry: HloComputation, others: Mapping[str, HloComputation]
) -> list[HloComputation]:
    """Return the entry and the computations reached by its loops, branches and calls."""
    running = [entry]
    visited: set[str] = set()
    for computation in running:
        for line in computation.lines.values():
            if line.op not in {"while", "conditional", "call"}:
                continue
            attributes = line.rest.partition(", metadata={")[0]
            run = {*_RUNS.findall(attributes), *_branches(attributes)} - visited
            visited |= run
            running += [others[name] for name in sorted(run) if name in others]
    return running


def entry_shapes(header: str) -> tuple[str, str]:
    """Return the shapes of a program's arguments and results, from a module's first line."""
    _, _, layout = header.partition("entry_computation_layout=")
    layout = layout[: max(find_closing_bracket(layout, 0), 0)]
    end = max(find_closing_bracket(layout, layout.find("(")), 0)
    return layout[:end], layout[end:].removeprefix("->")


def list_arguments(entry: HloComputation, text: str) -> Iterator[HloArray]:
    """Yield a program's arguments, also those of a program that takes them as one tuple."""
    lines = entry.lines.values()
    parameters = {line.operands: line for line in lines if line.op == "parameter"}
    first = parameters.get("0", NOTHING)
    for array in parse_arrays(NOTHING, text):
        if first.shape.startswith("("):
            yield array._replace(line=first)
        else:
            yield array._replace(line=parameters.get(str(array.leaf), NOTHING), leaf=0)


def results_with_owners(computation: HloComputation, text: str = "") -> Iterator[HloArray]:
    """Yield a computation's results, each with the instruction whose memory it uses."""
    cache: dict[str, tuple[list[str], dict[int, int]]] = {}
    for array in parse_arrays(computation.root, text or computation.root.shape):
        line, leaf = array.line, array.leaf
        for _ in range(_STEPS):
            if line.name not in cache:
                cache[line.name] = NAME.findall(line.operands), _aliases(line)
            operands, aliases = cache[line.name]
            position, inner = 0, leaf
            if line.op == "tuple":
                position, inner = leaf, 0
            elif line.op == "get-tuple-element":
                index = line.rest.partition(" index=")[2].partition(",")[0]
                inner = (parse_integers(index) or [0])[0]
            elif line.op not in PASSED_ON:
                position, inner = aliases.get(leaf, len(operands)), 0
            owner = computation.lines.get(operands[position]) if position < len(operands) else None
            if owner is None:
                break
            line, leaf = owner, inner
        yield array._replace(line=line, leaf=leaf)
