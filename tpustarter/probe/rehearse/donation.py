"""Arguments that a program could donate and does not, though a result could use their memory.

A donated argument and a result of the same shape, type and layout share their memory. The compiler
lists these pairs in the first line of the program's text. The most that further donations can save
follows from the sizes. The real saving is known once the program has been compiled with them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypedDict

from tpustarter.probe.rehearse.collectives import find_closing_bracket
from tpustarter.probe.rehearse.hlo import HloProgram

LEAST_SHARE = 0.05
"""Least share of the program's memory that a saving must reach to be worth a hint, ..."""
LEAST_BYTES = 2**20
"""... and the least number of bytes."""
_SMALL = 0.01
"""Share of the total saving below which an argument is not named."""

_PAIR = re.compile(r"\{(\d{0,9})[\d, ]{0,99}\}: \((\d{1,9}), \{(\d{0,9})[\d, ]{0,99}\}")
_DONOR = re.compile(r"\((\d{1,9}), \{(\d{0,9})")
_ROOT = re.compile(r"[^\W\d]\w*")


class NamedDonationFields(TypedDict):
    """Arguments of a function that could be donated, as in `result_fields.Donation`."""

    arguments: list[str]
    most_bytes: int | None
    hbm_bytes: int | None


class DonationFields(NamedDonationFields, total=False):
    """Donation of a function that may be one of `jax.pmap`, which takes positions."""

    argnums: list[int]


def find_undonated_arguments(
    header: str, program: HloProgram, names: Sequence[str], needed_bytes: int
) -> DonationFields | None:
    """Return the further donations that a program allows, or None if not worth a hint.

    Args:
        header: The first line of the program's text.
        program: The parsed program.
        names: The program's argument names, such as `params['w']`.
        needed_bytes: The memory that the program needs.
    """
    aliases = _section(header, "input_output_alias=")
    pairs = [(int(one[1] or 0), _number(one[2], one[3])) for one in _PAIR.finditer(aliases)]
    donors = _DONOR.finditer(_section(header, "buffer_donor="))
    taken = {argument for _, argument in pairs} | {_number(one[1], one[2]) for one in donors}
    outputs = {output for output, _ in pairs}
    free = Counter(
        (value.shape, value.layout)
        for number, value in enumerate(program.outputs)
        if number not in outputs
    )
    saved: dict[int, int] = {}
    for number, value in enumerate(program.arguments):
        key = value.shape, value.layout
        if number not in taken and free[key]:
            free[key] -= 1
            saved[number] = value.laid_out_bytes
    total = sum(saved.values())
    if total < max(LEAST_BYTES, LEAST_SHARE * needed_bytes):
        return None
    return _make_fields(saved, names, total)


def list_donatable(arguments: Sequence[str], results: Sequence[str]) -> list[int]:
    """Return the indices of the arguments that can be paired with a result of the same type."""
    free = Counter(results)
    found: list[int] = []
    for number, kind in enumerate(arguments):
        if free[kind]:
            free[kind] -= 1
            found.append(number)
    return found


def make_donation_fields(
    numbers: Iterable[int], names: Sequence[str], needed_bytes: int
) -> DonationFields | None:
    """Return the donation that a program was compiled with, and the memory it then needs."""
    saved = dict.fromkeys(numbers, 1)
    fields = _make_fields(saved, names, None)
    return {**fields, "hbm_bytes": needed_bytes} if fields else None


def add_positions(fields: DonationFields | None, pmapped: Sequence[str]) -> DonationFields | None:
    """Return the donation with the positions of its arguments, if `jax.pmap` made the function.

    It is None where an argument is no parameter, such as one of `**options`.
    """
    if fields is None or not pmapped:
        return fields
    if not set(fields["arguments"]) <= {*pmapped}:
        return None
    return {**fields, "argnums": [pmapped.index(name) for name in fields["arguments"]]}


def _make_fields(
    saved: dict[int, int], names: Sequence[str], total: int | None
) -> DonationFields | None:
    roots: Counter[str] = Counter()
    for number, size in saved.items():
        root = _ROOT.match(names[number]) if number < len(names) else None
        if root is None:
            return None  # without a name, there is nothing to suggest
        roots[root[0]] += size
    least = _SMALL * (total or 0)
    arguments = [root for root, size in roots.items() if size >= least]
    if not arguments:
        return None
    return {"arguments": arguments, "most_bytes": total, "hbm_bytes": None}


def _section(header: str, key: str) -> str:
    _, _, rest = header.partition(key)
    return rest[: max(find_closing_bracket(rest, 0), 0)]


def _number(argument: str, leaf: str) -> int:
    # A program with thousands of arguments takes one tuple of them all.
    return int(leaf or argument)
