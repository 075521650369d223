"""A table of alternative programs: the memory, transfers and least time of each on one TPU."""

from __future__ import annotations

from collections.abc import Sequence

from tpustarter.rehearsal.comparison import ADVICE, compare_programs
from tpustarter.rehearsal.result_fields import ComparedProgram, ResultFields
from tpustarter.rehearsal.text.bound_text import format_time
from tpustarter.rehearsal.text.donation_text import DONATE, describe_donation
from tpustarter.rehearsal.text.memory_size import format_sizes
from tpustarter.rehearsal.text.rehearsal_headline import WORDS
from tpustarter.text import phrases
from tpustarter.text.terminal import WIDTH, cut_text, escape_text, wrap

BEST = ">"
"""The mark of the best program."""
MEANING = (
    f"{BEST} marks the least lower bound of those that fit; of equal ones, the fewest bytes "
    "received from other devices, and then the least memory. A bound is no measured time."
)
_HEADS = ("", "answer", "memory", "received", "at best", "limited by")
_LEAST_NAME = 12
_MOST_DONATING = 24
"""Longest name of a program in a sentence about donation, in characters, ..."""
_NAMED = 3
"""... and the most names in it."""


def format_comparison(
    results: Sequence[ResultFields], tpus: Sequence[str], width: int = WIDTH
) -> list[str]:
    """Return a table for each TPU, with a row for each program, and the meaning of the mark.

    Below the tables are the arguments that each program could donate.
    """
    lines: list[str] = []
    for tpu in tpus:
        rows = compare_programs(results, tpu)
        lines += [*format_table(tpu, rows, width), ""] if rows else []
    if donations := _list_donations(results):
        lines += [*donations, ""]
    if len({result["program"] for result in results}) == 1:
        return [*lines, *wrap(f"There is one program, and so nothing to compare: {ADVICE}.")]
    return [*lines, *wrap(MEANING)] if lines else []


def format_table(tpu: str, rows: Sequence[ComparedProgram], width: int = WIDTH) -> list[str]:
    """Return the table of one TPU, whose first line has its name and the column headings."""
    memory = _sizes([row.hbm_bytes for row in rows])
    received = _sizes([row.received_bytes for row in rows])
    cells = [
        (
            WORDS[row.status],
            *sizes,
            format_time(row.bound_seconds) if row.bound_seconds is not None else "-",
            row.limiter or "-",
        )
        for row, *sizes in zip(rows, memory, received, strict=True)
    ]
    table = [_HEADS[1:], *cells]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    most = max(_LEAST_NAME, width - sum(widths) - 2 * len(widths) - 2)
    names = [cut_text(escape_text(text), most) for text in (tpu, *(row.program for row in rows))]
    column = max(map(len, names))
    marks = [" ", *(BEST if row.best else " " for row in rows)]
    return [
        f"{mark} {name:<{column}}  {_align(texts, widths)}".rstrip()
        for mark, name, texts in zip(marks, names, table, strict=True)
    ]


def _list_donations(results: Sequence[ResultFields]) -> list[str]:
    names: dict[str, dict[str, None]] = {}
    for result in results:
        if result["status"] == "compiles" and (text := describe_donation(result)):
            name = cut_text(escape_text(result["program"]), _MOST_DONATING)
            names.setdefault(text, {})[name] = None
    return [
        line
        for text, of in names.items()
        for line in wrap(
            escape_text(f"in {phrases.join_words(of, most=_NAMED)}, {text}"), f"{DONATE}  ", "  "
        )
    ]


def _align(texts: Sequence[str], widths: Sequence[int]) -> str:
    last = len(widths) - 1
    cells = (
        f"{text:<{width}}" if number in (0, last) else f"{text:>{width}}"
        for number, (text, width) in enumerate(zip(texts, widths, strict=True))
    )
    return "  ".join(cells)


def _sizes(counts: Sequence[int | None]) -> list[str]:
    known = iter(format_sizes([one for one in counts if one is not None]))
    return ["-" if one is None else next(known) for one in counts]
