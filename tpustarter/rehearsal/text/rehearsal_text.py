"""The TPU compiler's answers as plain text: failures first, the headline last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tpustarter.rehearsal.programs import device_count_mismatch
from tpustarter.rehearsal.result_fields import (
    CollectiveOperation,
    CompiledProgram,
    MatrixProduct,
    ProgramArray,
    ResultFields,
    SizedProgram,
    fits_memory,
)
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.text import (
    bound_text,
    comparison_text,
    fit_text,
    memory_bar,
    model_estimate,
    script_text,
)
from tpustarter.rehearsal.text.donation_text import DONATE, describe_donation
from tpustarter.rehearsal.text.memory_size import format_size, format_sizes
from tpustarter.rehearsal.text.rehearsal_headline import (
    WORDS,
    format_headline,
    format_label,
)
from tpustarter.text import phrases
from tpustarter.text.terminal import WIDTH, Paint, cut_text, escape_text, paint_nothing, wrap

_HEADS = {"does-not-fit": "TOO BIG", "refused": "REFUSED", "error": "ERROR", "compiles": "ok"}
_ORDER = ("error", "refused", "does-not-fit", "compiles")
WASTE = 2.0
"""An array is noted if its tiles take this many times the bytes asked for, ..."""
WASTE_BYTES = 2**20
"""... and at least this many bytes."""
LARGEST, BETWEEN = "largest", "between devices"
"""Labels of the notes on the largest array and on collectives."""
_NOTE_LABEL = 7
"""Columns of a note's label; a longer label moves its text to the right."""
MOST_NOTES = 6
"""Most notes of one kind that are shown."""
_INDENT = " " * 6
_ADVICE = {
    "does-not-fit": "smaller batch, bfloat16, jax.checkpoint, or shard over more devices",
}
_PARTS = ("arguments", "outputs", "aliased", "temporaries", "code")
"""Uses of memory, by their names in a result."""
_PASSES = {
    "default": "one bfloat16 pass",
    "high": "three passes",
    "highest": "six passes",
}


def format_first_line(compiler: str, versions: dict[str, str], tpus: Sequence[str]) -> str:
    """Return the first line: the compiler, its versions and the TPUs."""
    names = f"jax {versions['jax']}, libtpu {versions['libtpu']}"
    line = f"compiler {compiler} {versions['python']}, {names}, for {', '.join(tpus)}"
    return "\n".join(wrap(escape_text(line), "", hang=" " * 9))


def render_rehearsal(
    rehearsal: Rehearsal, *, verbose: bool = False, paint: Paint = paint_nothing
) -> str:
    """Return the whole report, without the first line."""
    tpus = [topology.name for topology in rehearsal.topologies]
    results = sorted(
        rehearsal.results, key=lambda result: (tpus.index(result["tpu"]), result["check"] or "")
    )
    own = any(result["check"] is None for result in results)
    stopped = rehearsal.stopped_by is not None
    lines: list[str] = []
    for group in _groups(results):
        if group[0]["status"] != "compiles" or verbose or own or len(tpus) == 1:
            facts = verbose or (own and not rehearsal.compares)
            lines += _group(group, paint, facts=facts, verbose=verbose)
    if len(tpus) > 1 and not rehearsal.compares:  # a comparison has the answers, too
        lines += (
            ["", *format_table(results, tpus, paint)]
            if lines
            else format_table(results, tpus, paint)
        )
    for text in () if stopped else device_count_mismatch.describe_missing_answers(results, tpus):
        lines += wrap(text, "-     ", hang=_INDENT)
    for entry in rehearsal.skipped:
        lines += wrap(
            f"{escape_text(entry['name'])} was left out: {entry['reason']}", "skip  ", hang=_INDENT
        )
    if rehearsal.compares:
        lines += ["", *comparison_text.format_comparison(results, tpus)]
    if fits := fit_text.format_largest_sizes(rehearsal.fits, verbose=verbose):
        lines += ["", *fits]
    lines += script_text.format_functions(rehearsal.functions)
    if rehearsal.runs_script:
        lines += script_text.format_ending(rehearsal)
    total = rehearsal.progress.total if stopped else None
    last = format_headline(results, own=own, script=rehearsal.runs_script, stopped_of=total)
    last = fit_text.format_largest_fit_headline(rehearsal.fits) or last
    return "\n".join([*lines, "", *wrap(last, "")])


def format_table(
    results: Sequence[ResultFields], tpus: Sequence[str], paint: Paint = paint_nothing
) -> list[str]:
    """Return a table of programs by TPUs, in parts of at most seven TPUs."""
    lines: list[str] = []
    if not results:
        return lines
    per_part = 7
    for first in range(0, len(tpus), per_part):
        part = tpus[first : first + per_part]
        rows: dict[str, dict[str, str]] = {}
        for result in results:
            row, tpu, status = (
                rows.setdefault(format_label(result), {}),
                result["tpu"],
                result["status"],
            )
            row[tpu] = min(status, row.get(tpu, status), key=_ORDER.index)
        words = {tpu: [WORDS[row[tpu]] for row in rows.values() if tpu in row] for tpu in part}
        widths = {tpu: max(map(len, [tpu, *words[tpu]])) for tpu in part}
        most = WIDTH - sum(widths.values()) - len(part)
        label_width = min(most, max(len(escape_text(name)) for name in rows) + 1)
        lines += [""] if lines else []
        lines.append(" " * label_width + " ".join(f"{tpu:<{widths[tpu]}}" for tpu in part))
        for name, row in rows.items():
            cells = [
                paint(f"{WORDS[row[tpu]]:<{widths[tpu]}}", row[tpu])
                if tpu in row
                else f"{'-':<{widths[tpu]}}"
                for tpu in part
            ]
            lines.append(
                f"{cut_text(escape_text(name), label_width - 1):<{label_width}}{' '.join(cells)}"
            )
    return [line.rstrip() for line in lines]


def _groups(results: Sequence[ResultFields]) -> list[list[ResultFields]]:
    # Results of one program with the same answer for several TPUs share an entry; worst first.
    groups: dict[tuple[int, str, str | None], list[ResultFields]] = {}
    for result in results:
        status = result["status"]
        why = None if status == "does-not-fit" else result["reason"]
        groups.setdefault((_ORDER.index(status), format_label(result), why), []).append(result)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _group(group: list[ResultFields], paint: Paint, *, facts: bool, verbose: bool) -> list[str]:
    first = group[0]
    status = first["status"]
    head = paint(f"{_HEADS[status]:<8}", status)
    what = f"{escape_text(format_label(first))} for {', '.join(result['tpu'] for result in group)}"
    if status != "compiles":
        lines = wrap(what, head, hang=_INDENT)
        if status == "does-not-fit" and len(group) > 1:
            lines += [f"{_INDENT}{result['tpu']:<8} {summarize_answer(result)}" for result in group]
        else:
            lines += wrap(escape_text(summarize_answer(first)), _INDENT, hang=_INDENT)
        if status == "does-not-fit":
            lines += memory_bars(select_with_memory(group), _INDENT)
            lines += wrap(_ADVICE[status], f"{_INDENT}try   ", hang=_INDENT)
            for text in dict.fromkeys(map(describe_donation, group)):
                lines += wrap(escape_text(text), f"{_INDENT}or    ", hang=_INDENT) if text else []
        lines += _noted(group)
        if verbose and first.get("detail"):
            lines += [
                f"{_INDENT}| {escape_text(line)}" for line in first["detail"].splitlines()[-60:]
            ]
        return lines
    room = WIDTH - 9 - len(summarize_answer(first))
    if len(group) == 1 and len(what) <= room:
        lines = [f"{head}{what:<{min(42, room)}} {summarize_answer(first)}"]
    else:
        lines = wrap(escape_text(format_label(first)), head, hang=_INDENT)
        lines += [f"{_INDENT}{result['tpu']:<8} {summarize_answer(result)}" for result in group]
    lines += memory_bars(select_with_memory(group), _INDENT) if facts else []
    lines += _noted(group)
    compiled = [result for result in group if result["status"] == "compiles"]
    for result in compiled if verbose else compiled[:1]:
        alone = verbose or len(group) == 1
        notes = list_notes(result, verbose=verbose, bound=alone) if facts else []
        texts = [str(note) for note in notes]
        if texts and len(group) > 1:
            others = [] if verbose else [peer for peer in compiled if _differ(result, peer)]
            texts[:1] = [f"{_memory(answer)}, for {answer['tpu']}" for answer in (result, *others)]
            texts += [] if verbose else _bounds(group)
        for fact in texts:
            lines += wrap(escape_text(fact), _INDENT, hang=f"{_INDENT}  ")
    return lines


def select_with_memory(results: Iterable[ResultFields]) -> list[SizedProgram]:
    """Return the results that include how much memory their program needs."""
    return [result for result in results if "hbm_bytes" in result]


def memory_bars(group: Sequence[SizedProgram], indent: str = "") -> list[str]:
    """Return a bar for each TPU with the legend of its letters, or the legend alone."""
    buffers = select_largest_arrays(group[0].get("buffers", []))
    taken = [memory_bar.list_memory_parts(result, buffers) for result in group]
    bars = [
        (result, memory_bar.draw_memory_bar(result, own))
        for result, own in zip(group, taken, strict=True)
    ]
    lines = [
        f"{indent}{result['tpu']:<8} {text} {memory_bar.format_percent(result)}"
        for result, text in bars
        if text
    ]
    if not lines and group[0]["status"] == "compiles":
        return []
    texts = memory_bar_sizes(taken[0])
    for part, text in zip(taken[0], texts, strict=True):
        if part.buffer is not None:
            lines.append(cut_text(f"{indent}{part.letter}{format_array(part.buffer, text)}", WIDTH))
        elif any(memory_bar.OTHER in text for _, text in bars):
            lines += _everything_else(group, taken, indent, text)
    return lines


def memory_bar_sizes(taken: Sequence[memory_bar.MemoryPart]) -> list[str]:
    """Return the sizes of a bar's arrays, and of the rest, right-aligned."""
    counts = [part.buffer["laid_out_bytes"] if part.buffer else part.taken for part in taken]
    return [f"{text:>10}" for text in format_sizes(counts)]


def _everything_else(
    group: Sequence[SizedProgram],
    taken: Sequence[Sequence[memory_bar.MemoryPart]],
    indent: str,
    first: str,
) -> list[str]:
    others = [part.taken for own in taken for part in own if part.buffer is None]
    if max(others) - min(others) < group[0]["hbm_bytes"] / memory_bar.WIDTH:
        return [f"{indent}{memory_bar.OTHER}{first}  everything else"]
    each = ", ".join(
        f"{text} for {result['tpu']}"
        for result, text in zip(group, format_sizes(others), strict=True)
    )
    return wrap(f"everything else: {each}", f"{indent}{memory_bar.OTHER} ", hang=f"{indent}  ")


def _noted(group: list[ResultFields]) -> list[str]:
    texts = dict.fromkeys(note for result in group for note in result.get("notes", ()))
    return [
        line
        for text in texts
        for line in wrap(escape_text(text), f"{_INDENT}note    ", hang=f"{_INDENT}  ")
    ]


def _bounds(group: Sequence[ResultFields]) -> list[str]:
    each = [f"{one['tpu']} {text}" for one in group if (text := bound_text.summarize_bound(one))]
    text = f"{', '.join(each)}. Lower bounds from documented peaks, not measured"
    return [str(ProgramNote(bound_text.AT_BEST, text))] if each else []


def _differ(first: CompiledProgram, second: CompiledProgram) -> bool:
    smaller, larger = sorted(result["memory"]["temporaries"] for result in (first, second))
    return larger > smaller * 1.25 and larger - smaller > 2**20


def summarize_answer(result: ResultFields) -> str:
    """Return the compiler's answer in one line."""
    limit = result["hbm_limit_bytes"]
    if result["status"] == "compiles":
        stored = "stored" if result["cached"] else f"compiled in {result['seconds']:.1f} s"
        end = stored if fits_memory(result) else "which is too much"
        return f"{format_size(result['hbm_bytes'])} of {format_size(limit)}  {end}"
    if result["status"] == "does-not-fit":
        text = f"needs {format_size(result['hbm_bytes'])}, one device has {format_size(limit)}"
        if excess := result.get("excess_bytes"):
            text += f": {format_size(excess)} too much"
        return text
    return result["reason"]


@dataclass(frozen=True)
class ProgramNote:
    """A fact worth knowing about a program that compiles."""

    label: str
    """Its subject, such as `memory`; empty for a row of the list of arrays."""
    text: str

    def __str__(self) -> str:
        if not self.label:
            return self.text
        gap = "  " if len(self.label) > _NOTE_LABEL else " "
        return f"{self.label:<{_NOTE_LABEL}}{gap}{self.text}"


def list_notes(
    result: CompiledProgram, *, verbose: bool = False, bound: bool = True
) -> list[ProgramNote]:
    """Return the facts worth knowing about a program that compiles.

    Args:
        result: The compiler's answer.
        verbose: True to include all facts.
        bound: True to include the lower bound on its time.
    """
    lines = [_memory(result)]
    buffers = result["buffers"]
    lines += [ProgramNote("padding", text) for text in describe_padding(buffers)]
    largest = max(
        (buffer for buffer in buffers if buffer["kind"] == "temporary"),
        key=lambda buffer: buffer["laid_out_bytes"],
        default=None,
    )
    if largest and result["memory"]["temporaries"] > result["memory"]["arguments"] and not verbose:
        where = _origin(largest)
        text = f"{format_size(largest['laid_out_bytes'])}  {largest['shape']}, by {where}"
        lines.append(ProgramNote(LARGEST, text))
    if donated := describe_donation(result):
        lines.append(ProgramNote(DONATE, donated))
    lines += _collectives(result["collectives"], verbose=verbose)
    lines += _products(result["dots"], verbose=verbose)
    wide = sorted({b["shape"].split("[")[0] for b in buffers} & {"f64", "c128"})
    if wide:
        text = f"{phrases.join_words(wide)}: no TPU has it, so each operation becomes many"
        lines.append(ProgramNote("slow", text))
    if bound:
        lines += [ProgramNote(*n) for n in bound_text.list_bound_notes(result, verbose=verbose)]
    if verbose:
        lines.append(ProgramNote("model", model_estimate.format_model_estimate(result)))
        texts = format_sizes([buffer["laid_out_bytes"] for buffer in buffers])
        width = max(map(len, texts), default=0)
        lines += [
            ProgramNote(
                "", cut_text(format_array(buffer, f"{text:>{width}}"), WIDTH - len(_INDENT))
            )
            for buffer, text in zip(buffers, texts, strict=True)
        ]
    return lines


def _collectives(collectives: Sequence[CollectiveOperation], *, verbose: bool) -> list[ProgramNote]:
    shown = len(collectives) if verbose else MOST_NOTES
    lines: list[ProgramNote] = []
    for collective in collectives[:shown]:
        where = _place(collective["source"]) or collective["op_name"]
        size = format_size(collective["bytes"])
        slices = " between slices" if collective["link"] == "dcn" else ""
        text = f"{collective['count']} x {collective['op']}{slices}, {size} a device"
        if collective["runs"] not in (None, collective["count"]):
            text += f", run {collective['runs']} times"
        lines.append(ProgramNote(BETWEEN, f"{text}{', by ' * bool(where)}{where}"))
    if more := sum(collective["count"] for collective in collectives[shown:]):
        lines.append(ProgramNote(BETWEEN, f"{more} more, each smaller: -v lists them"))
    return lines


def _memory(result: CompiledProgram) -> ProgramNote:
    memory = result["memory"]
    names = [name for name in _PARTS if memory[name]]
    texts = format_sizes([memory[name] for name in names])
    each = (f"{name} {text}" for name, text in zip(names, texts, strict=True))
    return ProgramNote("memory", ", ".join(each))


def _products(dots: Sequence[MatrixProduct], *, verbose: bool) -> list[ProgramNote]:
    if verbose:
        return [
            ProgramNote(
                "matmul",
                f"{dot['count']} x {dot['left']} by {dot['right']} to {dot['out']}, "
                f"precision {dot['precision']}",
            )
            for dot in dots
        ]
    counts: dict[str, int] = {}
    for dot in dots:
        counts[dot["precision"]] = counts.get(dot["precision"], 0) + dot["count"]
    wide = any("f32" in (dot["left"], dot["right"]) for dot in dots)
    parts = [
        f"{count} at {name} precision" + (f", {_PASSES[name]} for f32" if wide else "")
        for name, count in counts.items()
    ]
    return [ProgramNote("matmul", "; ".join(parts))] if parts else []


def describe_padding(buffers: Iterable[ProgramArray]) -> list[str]:
    """Return a line for each array whose tiles take much more memory than its elements."""
    wasteful = {
        f"{buffer['shape']}: {format_size(buffer['asked_bytes'])} asked for, "
        f"{format_size(buffer['laid_out_bytes'])} taken by its tiles "
        f"({buffer['laid_out_bytes'] / max(1, buffer['asked_bytes']):.0f} x)"
        for buffer in buffers
        if buffer["laid_out_bytes"] >= WASTE_BYTES
        and buffer["laid_out_bytes"] >= WASTE * max(1, buffer["asked_bytes"])
    }
    return sorted(wasteful)


def format_array(buffer: ProgramArray, taken: str) -> str:
    """Return one array as a line: its memory, kind and shape, and the operation that made it."""
    return escape_text(
        f"{taken}  {_kind(buffer):<12} {buffer['shape']}  {_origin(buffer)}"
    ).rstrip()


def select_largest_arrays(buffers: Sequence[ProgramArray]) -> list[ProgramArray]:
    """Return the first four arrays larger than 1 % of the largest.

    `buffers` must be sorted by size, largest first.
    """
    largest = max((buffer["laid_out_bytes"] for buffer in buffers), default=0)
    return [buffer for buffer in buffers if buffer["laid_out_bytes"] > largest / 100][:4]


def _kind(buffer: ProgramArray) -> str:
    # The compiler counts arguments from 0.
    match = None if buffer["op"] else re.match(r"Argument (\d+) ", buffer["name"])
    return f"argument {match[1]}" if match else buffer["kind"]


def _origin(buffer: ProgramArray) -> str:
    if buffer["kind"] == "argument":
        return buffer["op"].replace("\\'", "'")  # as the compiler writes it into its text
    if buffer["kind"] == "output":
        return ""
    return _place(buffer["source"]) or buffer["op"] or buffer["name"]


def _place(source: str) -> str:
    return source.rpartition("/")[2]
