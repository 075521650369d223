"""A plan as 80-column plain text: the model, its parameters, and a row for each TPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpustarter.machine.generations import GENERATIONS
from tpustarter.planning.model_memory import PREFILL, QUANTISED, REMAT, PlanOptions
from tpustarter.planning.model_shape import ModelShape
from tpustarter.planning.rehearsal_comparison import RehearsalComparison
from tpustarter.planning.tpu_fit import (
    TpuFit,
    find_largest_hidden_split,
    list_divisors,
    list_tensor_parallel_sizes,
)
from tpustarter.planning.weights import count_parameters, list_arrays
from tpustarter.text import phrases
from tpustarter.text.terminal import Paint, cut_text, escape_text, paint_nothing, wrap

GIB = 2.0**30
COLOURS = {"too-big": "red", "fits": "green"}
_FIGURE = 6
"""Width of a figure in GiB; `needs` is padded to it before it is coloured."""
_SHORT = {"gradients": "grads", "activations": "activ", "gathered": "layer"}
"""Short headings for columns that would be too wide."""
LEFT_OUT = tuple(row.name for row in GENERATIONS if not row.counts)
"""Generations whose types and devices are not published."""


def render_plan(
    model: ModelShape,
    options: PlanOptions,
    plans: Sequence[TpuFit],
    comparisons: Sequence[RehearsalComparison] = (),
    *,
    named: bool = False,
    formulas: bool = False,
    paint: Paint = paint_nothing,
) -> list[str]:
    """Return the lines of a plan.

    Args:
        model: The planned model.
        options: The assumptions.
        plans: The plans, one per row.
        comparisons: Rehearsals to compare the plans with.
        named: True if the user named the TPUs.
        formulas: True to show each figure's formula.
        paint: Colours figures by `fits` and `too-big`.
    """
    lines = [*_model_lines(model, formulas=formulas), "", *_parallel_lines(model), ""]
    lines += [*wrap(_assumptions(options)), "", *format_table(plans, paint), ""]
    lines += wrap(_legend(options), "", "")
    for plan in plans if formulas else ():
        lines += ["", *_formula_lines(plan)]
    lines += ["", *_native_lines(plans), ""]
    for comparison in comparisons:
        lines += [*_comparison_lines(comparison), ""]
    if not named and LEFT_OUT:
        text = f"{phrases.join_words(LEFT_OUT)} are left out, because their types and devices are"
        lines += [*wrap(f"{text} not published."), ""]
    lines += wrap(_headline(plans, named=named))
    return lines


def _model_lines(model: ModelShape, *, formulas: bool) -> Iterator[str]:
    arrays = list_arrays(model)
    counts = count_parameters(arrays)
    total, active = sum(counts.values()), sum(array.active_count for array in arrays)
    sizes = [
        phrases.format_count(model.layers, "layer"),
        f"hidden size {model.hidden}",
        f"{model.heads} heads"
        + (" on one latent vector" if model.latent else f" on {model.kv_heads} KV heads"),
        f"vocabulary {model.vocabulary}",
        f"context {model.context}",
    ]
    if experts := model.experts:
        sizes.insert(3, f"{experts.count} experts, {experts.per_token} for each token")
    yield from wrap(f"{model.family.title}: {', '.join(sizes)}", "", "  ")
    yield ""
    used = f", {active:,} for each token" if active != total else ""
    yield f"{total:,} parameters{used}"
    width = len(f"{max(counts.values()):,}")
    for part, count in counts.items():
        yield f"  {count:>{width},}  {part}"
        for array in arrays if formulas else ():
            if array.part == part:
                yield f"  {'':{width}}    {array.formula:<30} {array.name}".rstrip()
    for note in model.notes:
        yield from wrap(note, "note  ", " " * 6)


def _parallel_lines(model: ModelShape) -> Iterator[str]:
    sizes = list_tensor_parallel_sizes(model)
    plain = phrases.join_words(one.size for one in sizes if one.kv_copies == 1)
    copied = phrases.join_words(one.size for one in sizes if one.kv_copies > 1)
    text = f"{plain}; {copied} with copies of the KV heads" if copied else plain
    if padded := [one.size for one in sizes if one.padded_vocabulary]:
        text += f"; the vocabulary is padded for {phrases.join_words(padded)}"
    yield from wrap(text, "tensor parallel  ", " " * 17)
    if experts := model.experts:
        even = phrases.join_words(list_divisors(experts.count))
        yield from wrap(even, "expert parallel  ", " " * 17)
    yield f"FSDP             even over up to {find_largest_hidden_split(model)} devices"


def _assumptions(options: PlanOptions) -> str:
    sequences = f"{phrases.format_count(options.batch, 'sequence')} of {options.context} tokens"
    if options.serve:
        return (
            f"Serving: {sequences} in each replica, weights {options.weights}, "
            f"KV cache {options.cache}, activations {options.activations}"
        )
    return (
        f"Training with Adam: {sequences} on each FSDP device, weights and "
        f"gradients {options.weights}, moments {options.moments}, activations "
        f"{options.activations}, remat {options.remat} ({REMAT[options.remat]})"
    )


def format_table(plans: Sequence[TpuFit], paint: Paint = paint_nothing) -> list[str]:
    """Return one row per TPU, with the memory of one device by part, in GiB."""
    names = [_SHORT.get(part.name, part.name) for part in plans[0].parts]
    lines = [_row(("GiB", "split", "has", "needs"), names, ("batch", "context"))]
    for plan in plans:
        needs = paint(f"{_gib(plan.needed):>{_FIGURE}}", "fits" if plan.fits else "too-big")
        split = f"{plan.layout.tensor}x{plan.layout.groups}"
        first = (plan.tpu.name, split, _gib(plan.hbm), needs)
        last = (str(plan.largest_batch or "-"), str(plan.longest_context or "-"))
        lines.append(_row(first, [_gib(part.size) for part in plan.parts], last))
    return lines


def _row(first: tuple[str, str, str, str], parts: Sequence[str], last: tuple[str, str]) -> str:
    name, split, has, needs = first
    cells = "".join(f"{part:>{_FIGURE}}" for part in parts[1:])
    figures = f"{name:<9} {split:>6}{has:>6}{needs:>{_FIGURE}}{parts[0]:>8}{cells}"
    return f"{figures}{last[0]:>{_FIGURE}}{last[1]:>8}"


def _legend(options: PlanOptions) -> str:
    groups = "replicas" if options.serve else "FSDP devices"
    text = f"Figures are GiB of one device; split is tensor parallel x {groups}. "
    text += "batch is the most sequences that the whole TPU holds, and context the longest "
    text += f"with one for each of the {groups}. Attention "
    text += "makes a matrix of scores. " if options.scores else "runs in a kernel without scores. "
    if options.serve:
        return (
            f"{text}Weights and cache are exact; activations are an estimate for prompts taken "
            f"{PREFILL} tokens at a time."
        )
    return (
        f"{text}Weights, Adam and gradients are exact. The largest layer, gathered whole, and the "
        "activations are estimates. With them, steps of a model like Llama that make a matrix of "
        "scores were within 20 % of what the TPU compiler counts."
    )


def _formula_lines(plan: TpuFit) -> Iterator[str]:
    yield f"{plan.tpu.name}, bytes of one device"
    for part in plan.parts:
        yield f"  {part.size:>15,}  {part.name}"
        yield from wrap(part.formula, " " * 19, " " * 21)
    yield f"  {plan.needed:>15,}  of {plan.hbm:,}, as the TPU compiler allows"


def _native_lines(plans: Sequence[TpuFit]) -> Iterator[str]:
    yield "Types that a matmul takes without a cast, by JAX's table for Pallas"
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in dict.fromkeys(plan.tpu.generation for plan in plans):
        groups.setdefault(row.matmul_dtypes, []).append(row.name)
    width = max(len(", ".join(names)) for names in groups.values()) + 2
    for dtypes, names in groups.items():
        yield from wrap(", ".join(dtypes), f"  {', '.join(names):<{width}}", " " * (width + 2))


def _comparison_lines(one: RehearsalComparison) -> list[str]:
    difference = one.rehearsed - one.planned
    program = escape_text(cut_text(one.program, 40))
    text = (
        f"The compiler counts {_gib(one.rehearsed)} GiB for {program} on {one.tpu}, and the plan "
        f"{_gib(one.planned)} GiB: {difference / GIB:+.2f} GiB."
    )
    if one.arguments is not None:
        text += (
            f" Its arguments take {_gib(one.arguments)} GiB, where the plan has "
            f"{_gib(one.state)} GiB of state."
        )
    return wrap(text)


def _headline(plans: Sequence[TpuFit], *, named: bool) -> str:
    fits = [plan.tpu.name for plan in plans if plan.fits]
    small = [plan.tpu.name for plan in plans if not plan.fits]
    one = (
        "one device of" if named else "these are the smallest slices in powers of two that hold it:"
    )
    text = f"By this arithmetic {one} {phrases.join_words(fits)}" if fits else ""
    text += " holds it" if fits and named else ""
    text += f"{'; ' if text else 'By this arithmetic it is '}too big for " if small else ""
    text += phrases.join_words(small, "or")
    return f"{text}. Nothing was compiled or measured, and no TPU was tested."


def _gib(size: float) -> str:
    value = size / GIB
    if value >= 1e4:  # wider than its column, and more than any device has
        return ">9999"
    return f"{value:.{2 if value < 100 else 1 if value < 1000 else 0}f}"


def warn_of_types(options: PlanOptions, plans: Sequence[TpuFit]) -> list[str]:
    """Return a warning if TPUs have to cast the weights before a matmul, else an empty list."""
    if options.weights not in QUANTISED:
        return []
    prefix = {"fp8": "float8"}.get(options.weights, options.weights)
    cast = [
        plan.tpu.generation.name
        for plan in plans
        if not any(name.startswith(prefix) for name in plan.tpu.generation.matmul_dtypes)
    ]
    names = [*dict.fromkeys(cast)]
    verb = phrases.choose_plural(len(names), "casts", "cast")
    text = (
        f"{phrases.join_words(names)} {verb} {options.weights} before a matmul, so that the matmul"
    )
    return [f"{text} is no faster for it"] if names else []
