"""The collectives in a compiled program's HLO text.

The text comes from `jax.jit(f).lower(...).compile().as_text()`, compiled for TPUs or CPUs. Lessons
import a copy of this file, so it needs only the standard library. It never raises, whatever the
text, and makes only a few passes over each line. The format was observed with jax 0.12.0.1 and
libtpu 0.0.50.1 and 0.0.52.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

KINDS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
)
ICI, DCN = "ici", "dcn"
_SAME_VALUE = ("bitcast", "convert", "copy", "copy-done", "copy-start", "reshape")
_CALLERS = ("calls", "to_apply")
_DEPTH = 40
"""Longest chain of instructions through which a value is traced."""
_MOST = 2**62
"""Largest plausible number of devices, bytes or runs; a larger one counts as unknown."""

# These run in linear time: no repeat can match the character that ends it.
_BRACKET = re.compile(r"[()\[\]{}]")
_ARRAY = re.compile(r"(?<!\w)(\w+)\[([^\[\]]*)\]")
_NAME = re.compile(r"%([^\s,(){}]+)")
_AXIS = re.compile(r"'([^']*)'(?:=(\d+)|:\(\d+\)(\d+))?")


class HloInstruction(NamedTuple):
    """An HLO instruction: `name = shape op(operands)rest`."""

    name: str
    op: str
    shape: str
    operands: str
    rest: str


class Collective(NamedTuple):
    """A collective operation, as one device sees it."""

    kind: str
    """One of `KINDS`."""
    bytes: int
    """Size of its result on one device in bytes, without tile padding."""
    group_size: int | None
    """Number of devices in a group, or of slices if `link` is `dcn`; None if unknown."""
    link: str
    """`ici` within a slice, or `dcn` between slices."""
    runs: int | None
    """Number of runs; None in a branch, or in a loop without a static trip count."""
    instruction: HloInstruction
    """The instruction that produces the result."""

    @property
    def received_bytes(self) -> float | None:
        """The fewest bytes that each device receives in one run, or None if unknown.

        An all-reduce counts as a reduce-scatter followed by an all-gather.
        """
        if self.kind in ("collective-broadcast", "collective-permute"):
            return float(self.bytes)
        if self.group_size is None or self.kind == "ragged-all-to-all":
            return None
        others = self.group_size - 1
        if self.kind == "reduce-scatter":
            return float(self.bytes * others)
        return (2 if self.kind == "all-reduce" else 1) * self.bytes * others / self.group_size


Computations = Mapping[str, dict[str, HloInstruction]]
"""Instructions by computation and name; the root comes last in its computation."""


def count_collectives(text: str) -> dict[str, int]:
    """Return the number of collectives of each kind; those in a loop count once."""
    return dict(sorted(Counter(one.kind for one in list_collectives(text)).items()))


def list_collectives(text: str) -> list[Collective]:
    """Return the collectives in the first module of an HLO text."""
    computations: dict[str, dict[str, HloInstruction]] = {}
    header = entry = ""
    for heading, body in split_sections(text):
        if heading.startswith("HloModule "):
            if header:
                break
            header = heading
        elif heading.endswith("{"):
            name = heading.removeprefix("ENTRY ").partition(" ")[0].lstrip("%")
            entry = name if heading.startswith("ENTRY ") else entry
            computations[name] = parse_instructions(body)
    return find_collectives(computations, entry, count_partitions(header))


def count_partitions(header: str) -> int | None:
    """Return the number of partitions or replicas in a module's first line, or None."""
    number = _after(header, "num_partitions=") or _after(header, "replica_count=")
    return _parse_number(number)


def parse_instructions(body: Iterable[str]) -> dict[str, HloInstruction]:
    """Parse the lines of a computation into instructions by name, the root last."""
    lines: dict[str, HloInstruction] = {}
    root = None
    for text in body:
        stripped = text.strip()
        if parsed := parse_instruction(stripped.removeprefix("ROOT ")):
            lines[parsed.name] = parsed
            root = parsed.name if stripped.startswith("ROOT ") else root
    if root is not None:
        lines[root] = lines.pop(root)
    return lines


def find_collectives(
    computations: Computations, entry: str, partitions: int | None = None
) -> list[Collective]:
    """Return a program's collectives, in the order of its computations.

    Each counts once. For a `-start` and `-done` pair, that is the `-done`, which has the result. A
    chain of fusions may begin, continue and end one collective; only the first fusion counts. A
    fusion that keeps one slice of an all-reduce's result is a reduce-scatter. A collective between
    slices is a `send` and a `recv`; the `recv` counts.

    Args:
        computations: The program's computations.
        entry: The name of the entry computation.
        partitions: The group size of a collective that lists no groups; None if unknown.
    """
    runs = _count_runs(computations, entry)
    fusions = {
        _after(line.rest, " calls=%"): line
        for lines in computations.values()
        for line in lines.values()
        if line.op == "fusion"
    }
    chains: set[str] = set()
    found: list[Collective] = []
    for name, lines in computations.items():
        fusion = fusions.get(name)
        for line in lines.values():
            kind, link = _kind(line)
            chain = _chain(line.rest) if fusion else ""
            if not kind or chain in chains:
                continue
            chains |= {chain} - {""}
            origin = line
            if fusion and kind == "all-reduce" and _keeps_a_part(name, lines):
                kind, origin = "reduce-scatter", fusion
            started = lines.get((_NAME.findall(line.operands) or [""])[0], line)
            rest = started.rest if line.op.endswith("-done") else line.rest
            size = _count_slices(rest) if link == DCN else _group_size(rest, partitions)
            shapes = _ARRAY.findall(origin.shape)
            moved = sum(_count_bytes(*shape) for shape in (shapes[:1] if link == DCN else shapes))
            found.append(Collective(kind, moved, size, link, runs.get(name, 1), origin))
    return found


def _kind(line: HloInstruction) -> tuple[str, str]:
    """Return the kind and link of a collective; the kind is empty for any other instruction."""
    if line.op == "recv":
        kind = _after(line.rest, '_xla_megascale_transfer_type="').partition('"')[0]
        kind = kind.casefold().replace("_", "-")
        return kind if kind in KINDS else "", DCN
    kind = line.op.removesuffix("-done")
    return kind if kind in KINDS else "", ICI


def _keeps_a_part(name: str, lines: dict[str, HloInstruction]) -> bool:
    # The compiler may also name such a computation `all-reduce-scatter`.
    sums = {line.name for line in lines.values() if line.op == "all-reduce"}
    for line in lines.values():
        first = (_NAME.findall(line.operands) or [""])[0]
        if first in sums and line.op in ("bitcast", "get-tuple-element"):
            sums.add(line.name)
        elif first in sums and line.op == "dynamic-slice":
            return True
    return name.startswith("all-reduce-scatter")


def _chain(rest: str) -> str:
    # All collectives of a `shard_map` share a channel; the chain id distinguishes them.
    channel = _after(rest, " channel_id=")
    return f"{channel} {_after(rest, '{chain_id=')}" if channel else ""


def _group_size(rest: str, partitions: int | None) -> int | None:
    """Return the size of a group: `{{0,1},{2,3}}`, `[2,4]<=[8]`, `mesh['x'=2,'y'=4] {'y'}`."""
    groups = rest.partition(" replica_groups=")[2]
    if groups.startswith("{{"):
        return groups.partition("}")[0].count(",") + 1
    if groups.startswith("{}"):
        return partitions
    if groups.startswith("["):
        return _parse_number(groups.partition("]")[0].rpartition(",")[2])
    if groups.startswith("mesh["):
        mesh, _, axes = groups.partition("] {")
        sizes = {name: size for name, size, _ in _AXIS.findall(mesh)}
        chosen = [
            part or sizes.get(name) for name, _, part in _AXIS.findall(axes.partition("}")[0])
        ]
        return _multiply(_parse_number(size or "") for size in chosen)
    return None


def _parse_number(text: str) -> int | None:
    """Return a decimal number, or None if it is invalid or larger than `_MOST`."""
    number = int(text) if text.isdecimal() and len(text) <= len(str(_MOST)) else None
    return None if number is None or number > _MOST else number


def _multiply(numbers: Iterable[int | None]) -> int | None:
    product = 1
    for number in numbers:
        if number is None or number * product > _MOST:
            return None
        product *= number
    return product


def _count_slices(rest: str) -> int | None:
    """Return the number of slices in the first group of `_xla_megascale_target`, or None."""
    target = rest.partition("_xla_megascale_target=")[2].lstrip('"')
    group = target.lstrip("{").partition("}")[0]
    return group.count(",") + 1 if target.startswith("{") and ":" not in group else None


def _count_bytes(kind: str, dims: str) -> int:
    """Return the bytes of an array from its element type and dimensions: `f32` and `8,128`."""
    digits = "".join(letter if letter.isdecimal() else " " for letter in kind).split()
    width = int(digits[0]) if digits and len(digits[0]) <= len("128") else 8 * (kind == "pred")
    sizes = dims.replace("<=", "").split(",") if dims else []
    return -(-(_multiply([width, *map(_parse_number, sizes)]) or 0) // 8)


def _count_runs(computations: Computations, entry: str) -> dict[str, int | None]:
    """Return how often each computation runs, or None where that is not static."""
    runs: dict[str, int | None] = {entry: 1}
    callers: Counter[str] = Counter()
    calls = {name: list(_list_calls(computations, lines)) for name, lines in computations.items()}
    reached, left = {entry}, [entry]
    while left:
        for called, _ in calls.get(left.pop(), ()):
            callers[called] += 1
            left += [called] if called not in reached else []
            reached.add(called)
    left = [entry]
    while left:  # visit each computation after all of its callers
        name = left.pop()
        for called, trips in calls.get(name, ()):
            before, more = runs.get(called, 0), _multiply((runs[name], trips))
            total = None if before is None or more is None else before + more
            runs[called] = None if total is None or total > _MOST else total
            callers[called] -= 1
            left += [called] if callers[called] == 0 else []
    return runs


def _list_calls(
    computations: Computations, lines: dict[str, HloInstruction]
) -> Iterator[tuple[str, int | None]]:
    """Yield each call in a computation: the name of the callee, and how often it runs."""
    for line in lines.values():
        attributes = line.rest.partition(", metadata={")[0]
        if line.op == "while":
            trips = _count_trips(computations, lines, line)
            yield _after(attributes, " body=%"), trips
            yield _after(attributes, " condition=%"), None if trips is None else trips + 1
        elif line.op == "conditional":
            branches = attributes.partition("branch_computations={")[2].partition("}")[0]
            for name in _NAME.findall(branches):
                yield name, None
            for key in ("true", "false"):
                yield _after(attributes, f" {key}_computation=%"), None
        elif "=%" in attributes:
            for key in _CALLERS:
                if name := _after(attributes, f" {key}=%"):
                    yield name, 1


class _Item(NamedTuple):
    """An element of a loop's carried tuple, plus a constant."""

    position: int
    added: int


class _Values(NamedTuple):
    """A computation and its arguments, which are None for a loop whose values are unknown."""

    lines: dict[str, HloInstruction]
    arguments: tuple[tuple[_Values, str], ...] | None


def _count_trips(
    computations: Computations, outside: dict[str, HloInstruction], loop: HloInstruction
) -> int | None:
    """Return the trip count of a loop with constant bounds and step, or None for any other."""
    condition = computations.get(_after(loop.rest, " condition=%"))
    body = computations.get(_after(loop.rest, " body=%"))
    if not condition or not body:
        return None
    root, values = _open_fusion(computations, _Values(condition, None), _root(condition))
    if root.op != "compare":
        return None
    evaluate = _Evaluation(computations).evaluate
    sides = [evaluate(values, name) for name in _NAME.findall(root.operands)[:2]]
    direction = _after(root.rest, " direction=")
    if isinstance(sides[0], int):
        sides.reverse()
        direction = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}.get(direction, direction)
    counter, limit = [*sides, None, None][:2]
    if not isinstance(counter, _Item) or not isinstance(limit, int):
        return None
    step = evaluate(_Values(body, None), _root(body).name, counter.position)
    first = evaluate(_Values(outside, None), loop.name, counter.position)
    if not (isinstance(step, _Item) and isinstance(first, int)) or step[0] != counter[0]:
        return None
    far = limit - counter.added - first
    if direction in ("GT", "GE"):
        far, step = -far, step._replace(added=-step.added)
    if direction not in ("LT", "LE", "GT", "GE") or step.added <= 0:
        return None
    return max(0, -(-(far + direction.endswith("E")) // step.added))


def _root(lines: dict[str, HloInstruction]) -> HloInstruction:
    return next(reversed(lines.values()))


def _open_fusion(
    computations: Computations, values: _Values, line: HloInstruction
) -> tuple[HloInstruction, _Values]:
    """Return the root of a fusion, and the values inside it; other instructions unchanged."""
    inside = computations.get(_after(line.rest, " calls=%")) if line.op == "fusion" else None
    if not inside:
        return line, values
    names = _NAME.findall(line.operands)
    return _root(inside), _Values(inside, tuple((values, name) for name in names))


class _Evaluation:
    """An evaluator that visits each instruction once, however many others use it."""

    def __init__(self, computations: Computations) -> None:
        self._computations = computations
        # The `_Values` are kept as well, because a later one could reuse the id of a freed one.
        self._known: dict[tuple[int, str, int | None], tuple[_Values, int | _Item | None]] = {}

    def evaluate(
        self, values: _Values, name: str, index: int | None = None, left: int = _DEPTH
    ) -> int | _Item | None:
        """Return an integer, an element of a loop's tuple plus a constant, or None.

        `index` selects an element of a tuple; `left` limits the recursion.
        """
        key = id(values), name, index
        if left and name in values.lines and key not in self._known:
            self._known[key] = values, None  # a malformed text may have a cycle
            self._known[key] = values, self._follow(values, name, index, left - 1)
        return self._known[key][1] if key in self._known else None

    def _follow(
        self, values: _Values, name: str, index: int | None, left: int
    ) -> int | _Item | None:
        line, values = _open_fusion(self._computations, values, values.lines[name])
        names = _NAME.findall(line.operands)

        def go(operand: str, item: int | None = None) -> int | _Item | None:
            return self.evaluate(values, operand, item, left)

        if line.op == "constant" and index is None:
            number = _parse_number(line.operands.removeprefix("-"))
            return -number if number and line.operands.startswith("-") else number
        if line.op == "parameter":
            if values.arguments is None:
                return None if index is None else _Item(index, 0)
            number = _parse_number(line.operands)
            if number is None or number >= len(values.arguments):
                return None
            return self.evaluate(*values.arguments[number], index, left)
        if line.op == "get-tuple-element" and names:
            item = _parse_number(_after(line.rest, " index="))
            return None if item is None or index is not None else go(names[0], item)
        if line.op == "tuple" and index is not None:
            return go(names[index]) if index < len(names) else None
        if line.op in (*_SAME_VALUE, "while") and names:
            return go(names[0], index)
        if line.op in ("add", "subtract") and len(names) == 2 and index is None:
            return _add(go(names[0]), go(names[1]), -1 if line.op == "subtract" else 1)
        return None


def _add(left: int | _Item | None, right: int | _Item | None, sign: int) -> int | _Item | None:
    if isinstance(left, int) and isinstance(right, _Item) and sign > 0:
        left, right = right, left
    if left is None or not isinstance(right, int):
        return None
    if isinstance(left, _Item):
        return left._replace(added=left.added + sign * right)
    return left + sign * right


def _after(text: str, key: str) -> str:
    """Return the word that follows `key`, up to a comma or space; empty if there is none."""
    return text.partition(key)[2].partition(",")[0].partition(" ")[0].rstrip("}")


def split_sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each section or computation of an HLO text: its heading and its lines."""
    heading, start = "", 0
    body: list[str] = []
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end].rstrip()
        start = end + 1
        if line[:1].isspace() or line[:1].isdigit():
            body.append(line)
        elif line and line[0] != "}":
            yield heading, body
            heading, body = line, []
    yield heading, body


def parse_instruction(text: str) -> HloInstruction | None:
    """Parse an instruction from a line of text; return None for any other text."""
    name, _, right = text.partition(" = ")
    end = find_closing_bracket(right, 0) if right.startswith("(") else right.find(" ")
    opened = right.find("(", end)
    closed = find_closing_bracket(right, opened) if 0 < end < opened else -1
    if closed < 0:
        return None
    op, operands = right[end:opened].strip(), right[opened + 1 : closed - 1]
    return HloInstruction(name.lstrip("%"), op, right[:end], operands, right[closed:])


def find_closing_bracket(text: str, start: int) -> int:
    """Return the position after the bracket that closes the one at `start`, or -1."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in "([{" else -1
        if depth == 0:
            return bracket.end()
    return -1
