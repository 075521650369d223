"""The report of a rehearsal as files: a table in Markdown, and the memory of each program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tpustarter.rehearsal.result_fields import ResultFields, SizedProgram
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.saved_files import SavedFiles
from tpustarter.rehearsal.text.rehearsal_headline import format_headline, format_label
from tpustarter.rehearsal.text.rehearsal_text import (
    WORDS,
    format_array,
    format_size,
    format_sizes,
    list_notes,
    memory_bars,
)

_COLUMNS = (
    "program",
    "TPU",
    "answer",
    "needs",
    "of",
    "arguments",
    "outputs",
    "temporaries",
    "between devices",
    "compiled in",
)


def write_report(rehearsal: Rehearsal, files: SavedFiles) -> None:
    """Write a rehearsal's report, and the memory of its programs.

    Raises:
        Problem: A file cannot be written.
    """
    files.write_report(rehearsal.document(), format_markdown(rehearsal.results))
    for result in rehearsal.results:
        lines = _memory_lines(result) if "hbm_bytes" in result else ()
        files.write_program(result, "".join(f"{line}\n" for line in lines))


def format_markdown(results: Sequence[ResultFields]) -> str:
    """Return a table with a row for each program and TPU, followed by the headline."""
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *map(_row, results)]
    lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in rows]
    own = any(result["check"] is None for result in results)
    return "\n".join([*lines, "", format_headline(results, own=own), ""])


def _row(result: ResultFields) -> tuple[str, ...]:
    needed, memory = None, dict[str, int]()
    if "hbm_bytes" in result:
        needed, memory = result["hbm_bytes"], result.get("memory", memory)
    parts = [memory.get(name) for name in ("arguments", "outputs", "temporaries")]
    sizes = [needed, result["hbm_limit_bytes"], *parts]
    counts: Counter[str] = Counter()
    for one in result["collectives"] if result["status"] == "compiles" else ():
        counts[one["op"]] += one["count"] if one["runs"] is None else one["runs"]
    collectives = ", ".join(f"{count} x {kind}" for kind, count in counts.items())
    return (
        " ".join(format_label(result).split()),
        result["tpu"],
        WORDS[result["status"]],
        *("-" if size is None else format_size(size) for size in sizes),
        collectives or "-",
        "stored" if result["cached"] else f"{result['seconds']:.1f} s",
    )


def _memory_lines(result: SizedProgram) -> Iterator[str]:
    yield f"{format_label(result)} for {result['tpu']}, bytes of one device"
    yield from memory_bars([result])
    for name, size in result.get("memory", {}).items():
        yield f"{size:>16,}  {name}"
    buffers = result.get("buffers", [])
    texts = format_sizes([buffer["laid_out_bytes"] for buffer in buffers])
    for buffer, text in zip(buffers, texts, strict=True):
        yield f"{text:>16}  {format_array(buffer, '').strip()}"
    yield from map(str, list_notes(result)) if result["status"] == "compiles" else ()
    yield from [result["detail"]] if result["detail"] else []
