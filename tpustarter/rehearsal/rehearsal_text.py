"""What the TPU compiler said, as plain text: what does not compile first, the truth last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tpustarter.machine.tpus import parse_type
from tpustarter.probe.script import MOST_SHAPES
from tpustarter.rehearsal.own_code import Function
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.terminal import WIDTH, Paint, unpainted, visible, wrap

GIB = 2.0**30
MIB = 2.0**20
WORDS = {"compiles": "ok", "does-not-fit": "too big", "refused": "refused", "error": "ERROR"}
_HEADS = {"does-not-fit": "TOO BIG", "refused": "REFUSED", "error": "ERROR", "compiles": "ok"}
_ORDER = ("error", "refused", "does-not-fit", "compiles")
WASTE = 2.0
"""An array is named when its tiles take so many times what was asked for, ..."""
WASTE_BYTES = 2**20
"""... and at least so much memory."""
STORM = 4
"""Compilations from which on a function that is compiled for most of its calls is named."""
STORM_LESSON = "jax/try-a-tpu-you-do-not-have"
MOST_NOTES = 6
"""Notes of one kind that are shown."""
_INDENT = " " * 6
_ADVICE = {
    "does-not-fit": "smaller batch, bfloat16, jax.checkpoint, or shard over more devices",
}
_PEAKS = {
    "f32": "bf16_tflops",
    "bf16": "bf16_tflops",
    "f8": "fp8_tflops",
    "s8": "int8_tops",
    "s4": "int4_tops",
}
"""Which figure of `tpus.Generation` is the peak of products of a type, as HLO writes it."""
_PASSES = {
    "default": "one bfloat16 pass",
    "high": "three passes",
    "highest": "six passes",
}


def size(count: float) -> str:
    """Return a number of bytes in the unit that suits it."""
    for unit, factor in (("GiB", GIB), ("MiB", MIB), ("KiB", 2.0**10)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count:.0f} B"


def opening(shown: str, versions: dict[str, str], tpus: Sequence[str]) -> str:
    """Return the first line: the compiler, and for what."""
    names = f"jax {versions['jax']}, libtpu {versions['libtpu']}"
    line = f"compiler {shown} {versions['python']}, {names}, for {', '.join(tpus)}"
    return "\n".join(wrap(visible(line), "", hang=" " * 9))


def render(rehearsal: Rehearsal, *, verbose: bool = False, paint: Paint = unpainted) -> str:
    """Return the whole report, without the first line."""
    tpus = [one.name for one in rehearsal.topologies]
    results = sorted(
        rehearsal.results, key=lambda one: (tpus.index(one["tpu"]), one["check"] or "")
    )
    own = any(one["check"] is None for one in results)
    stopped = rehearsal.stopped_by is not None
    lines: list[str] = []
    for group in _groups(results):
        if group[0]["status"] != "compiles" or verbose or own or len(tpus) == 1:
            lines += _group(group, paint, facts=own or verbose, verbose=verbose)
    if len(tpus) > 1:
        lines += ["", *table(results, tpus, paint)] if lines else table(results, tpus, paint)
    for one in rehearsal.skipped:
        lines += wrap(
            f"{visible(one['name'])} was left out: {one['reason']}", "skip  ", hang=_INDENT
        )
    lines += _functions(rehearsal.functions)
    if rehearsal.script_error:
        lines += ["", *wrap(visible(rehearsal.script_error), "the script: ", hang=_INDENT)]
    return "\n".join([*lines, "", *wrap(headline(results, own=own, stopped=stopped), "")])


def _functions(functions: Sequence[Function]) -> list[str]:
    """Return what a script gave to `jax.jit`: how often it was called, and compiled."""
    if not functions:
        return []
    lines = ["", f"{'function':<28}{'where':<24}{'calls':>8}{'compiled':>10}"]
    for one in sorted(functions, key=lambda one: -one.compilations):
        name, where = _cut(visible(one.name), 27), _cut(visible(one.where), 23)
        lines.append(f"{name:<28}{where:<24}{one.calls:>8}{one.compilations:>10}")
        if one.compilations >= STORM and 2 * one.compilations > one.calls:
            often = f"a new program for {one.compilations} of {one.calls} calls; last change: "
            lines += wrap(visible(often + one.changed), _INDENT, hang=_INDENT)
            lines.append(f"{_INDENT}read  tpustarter learn {STORM_LESSON}")
    many = any(one.compilations > MOST_SHAPES for one in functions)
    more = f" Compiled: the first {MOST_SHAPES} shapes of each." if many else ""
    return [*lines, "", f"Not seen: pmap, operations outside jit.{more}"]


def table(
    results: Sequence[dict[str, Any]], tpus: Sequence[str], paint: Paint = unpainted
) -> list[str]:
    """Return programs by TPUs, in as many parts as the width asks for."""
    lines: list[str] = []
    per_part = 7
    for first in range(0, len(tpus), per_part):
        part = tpus[first : first + per_part]
        rows: dict[str, dict[str, str]] = {}
        for one in results:
            row, tpu, status = rows.setdefault(label(one), {}), one["tpu"], one["status"]
            row[tpu] = min(status, row.get(tpu, status), key=_ORDER.index)
        words = {tpu: [WORDS[row[tpu]] for row in rows.values() if tpu in row] for tpu in part}
        widths = {tpu: max(map(len, [tpu, *words[tpu]])) for tpu in part}
        most = WIDTH - sum(widths.values()) - len(part)
        label_width = min(most, max(len(visible(name)) for name in rows) + 1)
        lines += [""] if lines else []
        lines.append(" " * label_width + " ".join(f"{tpu:<{widths[tpu]}}" for tpu in part))
        for name, row in rows.items():
            cells = [
                paint(f"{WORDS[row[tpu]]:<{widths[tpu]}}", row[tpu])
                if tpu in row
                else f"{'-':<{widths[tpu]}}"
                for tpu in part
            ]
            lines.append(f"{_cut(visible(name), label_width - 1):<{label_width}}{' '.join(cells)}")
    return [line.rstrip() for line in lines]


def label(one: dict[str, Any]) -> str:
    """Return what to call a program: the name of its check and its own."""
    check = one["check"]
    return f"{check.partition('.')[2]}: {one['program']}" if check else one["program"]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _groups(results: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return results that are told together: one program, one answer, several TPUs; worst first."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for one in results:
        status = one["status"]
        why = None if status == "does-not-fit" else one["reason"]
        groups.setdefault((_ORDER.index(status), label(one), why), []).append(one)
    return [groups[key] for key in sorted(groups, key=lambda key: key[0])]


def _group(group: list[dict[str, Any]], paint: Paint, *, facts: bool, verbose: bool) -> list[str]:
    first = group[0]
    status = first["status"]
    head = paint(f"{_HEADS[status]:<8}", status)
    what = f"{visible(label(first))} for {', '.join(one['tpu'] for one in group)}"
    if status != "compiles":
        lines = wrap(what, head, hang=_INDENT)
        if status == "does-not-fit" and len(group) > 1:
            lines += [f"{_INDENT}{one['tpu']:<8} {summary(one)}" for one in group]
        else:
            lines += wrap(visible(summary(first)), _INDENT, hang=_INDENT)
        if status == "does-not-fit":
            lines += [
                _cut(_INDENT + array(one), WIDTH) for one in biggest(first.get("buffers", []))
            ]
            lines += wrap(_ADVICE[status], f"{_INDENT}try   ", hang=_INDENT)
        if verbose and first.get("detail"):
            lines += [f"{_INDENT}| {visible(line)}" for line in first["detail"].splitlines()[-60:]]
        return lines
    room = WIDTH - 9 - len(summary(first))
    if len(group) == 1 and len(what) <= room:
        lines = [f"{head}{what:<{min(42, room)}} {summary(first)}"]
    else:
        lines = wrap(visible(label(first)), head, hang=_INDENT)
        lines += [f"{_INDENT}{one['tpu']:<8} {summary(one)}" for one in group]
    for one in group if verbose else group[:1]:
        told = notes(one, verbose=verbose) if facts else []
        if told and len(group) > 1:
            others = [] if verbose else [other for other in group if _differ(one, other)]
            told[:1] = [f"{_memory(each)}, for {each['tpu']}" for each in (one, *others)]
        for fact in told:
            lines += wrap(visible(fact), _INDENT, hang=f"{_INDENT}  ")
    return lines


def _differ(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether a program needs clearly other temporaries on another TPU."""
    few, many = sorted(each["memory"]["temporaries"] for each in (one, other))
    return many > few * 1.25 and many - few > 2**20


def summary(one: dict[str, Any]) -> str:
    """Return the compiler's answer in one line."""
    limit = one.get("hbm_limit_bytes") or 0
    if one["status"] == "compiles":
        stored = "stored" if one["cached"] else f"{one['seconds']:.1f} s"
        return f"{size(one['hbm_bytes'])} of {size(limit)}  {stored}"
    if one["status"] == "does-not-fit":
        text = f"needs {size(one['hbm_bytes'])}, one device has {size(limit)}"
        if one.get("excess_bytes"):
            text += f": {size(one['excess_bytes'])} too much"
        return text
    return str(one["reason"])


def notes(one: dict[str, Any], *, verbose: bool = False) -> list[str]:
    """Return what is worth knowing about a program that compiles, one fact a line."""
    found = [_memory(one), *(f"padding {text}" for text in paddings(one["buffers"]))]
    largest = max(
        (buffer for buffer in one["buffers"] if buffer["kind"] == "temporary"),
        key=lambda buffer: buffer["laid_out_bytes"],
        default=None,
    )
    if largest and one["memory"]["temporaries"] > one["memory"]["arguments"] and not verbose:
        where = _origin(largest)
        found.append(f"largest {size(largest['laid_out_bytes'])}  {largest['shape']}, by {where}")
    for each in one["collectives"][:MOST_NOTES]:
        where = _place(each["source"]) or each["op_name"]
        found.append(f"between devices  {each['count']} x {each['op']}, {size(each['bytes'])} "
                     f"a device{', by ' * bool(where)}{where}")  # fmt: skip
    found += _products(one["dots"], verbose=verbose)
    wide = sorted({b["shape"].split("[")[0] for b in one["buffers"]} & {"f64", "c128"})
    if wide:
        found.append(f"slow    {' and '.join(wide)}: no TPU has it, every operation is many")
    if verbose:
        found.append(f"time    {model_time(one)}")
        found += [_cut(_INDENT + array(buffer), WIDTH).strip() for buffer in one["buffers"]]
    return found


def model_time(one: dict[str, Any]) -> str:
    """Return the compiler's own estimate beside the documented peak, or why there is none."""
    seconds = one["compiler_model_seconds"]
    if not seconds:
        return str(one["compiler_model_reason"])
    text = f"{seconds * 1e3:.3g} ms by the compiler's model, no measurement"
    rates = list(_model_rates(one, seconds))
    return f"{text}: {max(rates)[1]}" if rates else text


def _model_rates(one: dict[str, Any], seconds: float) -> Iterator[tuple[float, str]]:
    """Yield what an estimate makes of products and of memory: its part of the peak, and as text."""
    known = parse_type(one["tpu"]).generation
    kinds = {name for dot in one["dots"] for name in (dot["left"], dot["right"])}
    rates = [("GB/s", 1e9, one["bytes_accessed"], "hbm_gb_per_s")]
    if kinds:
        kind = kinds.pop() if len(kinds) == 1 else "several"
        field = _PEAKS.get("f8" if kind.startswith("f8") else kind, "")
        rates.append(("TOP/s" if field.endswith("tops") else "TFLOP/s", 1e12, one["flops"], field))
    for unit, scale, work, field in rates:
        figure = getattr(known, field, None)
        beside = figure or known.bf16_tflops
        if not (work and beside and known.devices_per_chip):
            continue
        figures = sorted({beside.value, *(value for value, _ in beside.others)})
        each = [value / known.devices_per_chip for value in figures]
        rate = work / seconds / scale
        documented = f"documented peak {' or '.join(f'{value:.4g}' for value in each)}"
        yield rate / each[0], f"{rate:.4g} {unit} ({documented if figure else 'no peak is known'})"


def _memory(one: dict[str, Any]) -> str:
    """Return where the memory of one device goes."""
    memory = one["memory"]
    names = ("arguments", "outputs", "aliased", "temporaries", "code")
    return f"memory  {', '.join(f'{name} {size(memory[name])}' for name in names if memory[name])}"


def _products(dots: Sequence[dict[str, Any]], *, verbose: bool) -> list[str]:
    """Return the matrix products by precision; each kind of them on a line with `-v`."""
    if verbose:
        return [f"matmul  {one['count']} x {one['left']} by {one['right']} to {one['out']}, "
                f"precision {one['precision']}" for one in dots]  # fmt: skip
    counts: dict[str, int] = {}
    for one in dots:
        counts[one["precision"]] = counts.get(one["precision"], 0) + one["count"]
    wide = any("f32" in (one["left"], one["right"]) for one in dots)
    told = [f"{count} at {name} precision" + (f", {_PASSES[name]} for f32" if wide else "")
            for name, count in counts.items()]  # fmt: skip
    return [f"matmul  {'; '.join(told)}"] if told else []


def paddings(buffers: Iterable[dict[str, Any]]) -> list[str]:
    """Return the arrays that take much more memory than was asked for."""
    wasteful = {
        f"{one['shape']}: {size(one['asked_bytes'])} asked for, {size(one['laid_out_bytes'])} "
        f"taken by its tiles ({one['laid_out_bytes'] / one['asked_bytes']:.0f} x)"
        for one in buffers
        if one["laid_out_bytes"] >= WASTE_BYTES
        and one["laid_out_bytes"] >= WASTE * max(1, one["asked_bytes"])
    }
    return sorted(wasteful)


def array(buffer: dict[str, Any]) -> str:
    """Return one array as a line: how much it takes, what it is, and what made it."""
    taken = size(buffer["laid_out_bytes"])
    return visible(
        f"{taken:>10}  {_kind(buffer):<12} {buffer['shape']}  {_origin(buffer)}"
    ).rstrip()


def biggest(buffers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the arrays that matter where the memory is too small."""
    most = max((one["laid_out_bytes"] for one in buffers), default=0)
    return [one for one in buffers if one["laid_out_bytes"] > most / 100][:4]


def _kind(buffer: dict[str, Any]) -> str:
    """Return `argument 1`, as the compiler counts them from 0, or the kind alone."""
    found = re.match(r"Argument (\d+) ", buffer["name"])
    return f"argument {found[1]}" if found else buffer["kind"]


def _origin(buffer: dict[str, Any]) -> str:
    """Return what made an array: a line of the source, an operation, or the compiler's name."""
    if buffer["kind"] != "temporary":
        return ""
    return _place(buffer["source"]) or buffer["op"] or buffer["name"]


def headline(results: Sequence[dict[str, Any]], *, own: bool = False, stopped: bool = False) -> str:
    """Return the truth in a sentence or two."""
    if not results:
        return "Nothing was compiled."
    good = [one for one in results if one["status"] == "compiles"]
    programs = len({label(one) for one in results})
    text = f"{len(good)} of {len(results)} compile"
    if own and programs == 1:
        fits = [one["tpu"] for one in good]
        small = [one["tpu"] for one in results if one["status"] == "does-not-fit"]
        each = "one device" if all(one.get("devices", 1) == 1 for one in good) else "each device"
        text += f": {each} of {', '.join(fits)} holds it" if fits else ""
        text += f"{';' if fits else ':'} too big for {', '.join(small)}" if small else ""
    unknown = sum(one["status"] == "error" for one in results)
    text += f", {unknown} without an answer" if unknown else ""
    text += "; stopped before the end" if stopped else ""
    return f"{text}. Nothing was run: this is a rehearsal, no TPU was tested."


def _place(source: str) -> str:
    """Return `train.py:12` of a path and a line."""
    return source.rpartition("/")[2]
