"""A model's memory on each TPU: how the devices share the work, and how much more would fit."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import tpus
from tpustarter.machine.generations import GENERATIONS, Generation
from tpustarter.machine.tpus import TpuType
from tpustarter.planning.model_memory import (
    MemoryComponent,
    PlanOptions,
    WorkSharding,
    list_memory_components,
    sum_components,
)
from tpustarter.planning.model_shape import ModelShape
from tpustarter.text import phrases

MOST_DEVICES = 2**16
MOST_BATCH = 2**20
"""Largest batch that is tried, in sequences."""


@dataclass(frozen=True)
class TensorParallelSize:
    """A number of devices over which tensor parallelism shards this model evenly."""

    size: int
    kv_copies: int
    """Number of devices that hold the same KV head."""
    padded_vocabulary: int | None
    """Rows of the embedding after padding; None if no padding is needed."""


@dataclass(frozen=True)
class TpuFit:
    """A model's memory on one TPU, and how much more would fit."""

    tpu: TpuType
    devices: int
    hbm: int
    """Bytes that a program may use on one device."""
    layout: WorkSharding
    parts: tuple[MemoryComponent, ...]
    largest_batch: int
    """Largest batch of the whole TPU that fits, in sequences; 0 for none."""
    longest_context: int
    """Longest sequence that fits with one sequence per group, in tokens; 0 for none."""

    @property
    def needed(self) -> int:
        """Bytes needed on one device."""
        return sum_components(self.parts)

    @property
    def state(self) -> int:
        """Bytes that a program takes as arguments: weights, and Adam or the cache."""
        return sum(part.size for part in self.parts if part.name in ("weights", "Adam", "cache"))

    @property
    def fits(self) -> bool:
        """True if one device has enough memory."""
        return self.needed <= self.hbm


@functools.cache
def list_divisors(number: int) -> list[int]:
    """Return the divisors of a number, up to `MOST_DEVICES`."""
    return [size for size in range(1, min(number, MOST_DEVICES) + 1) if number % size == 0]


def list_tensor_parallel_sizes(model: ModelShape) -> list[TensorParallelSize]:
    """Return the sizes that divide heads, MLP and experts evenly; KV heads may be replicated."""
    return [
        TensorParallelSize(
            size,
            1 if model.latent else math.ceil(size / model.kv_heads),
            None if model.vocabulary % size == 0 else math.ceil(model.vocabulary / size) * size,
        )
        for size in list_divisors(model.heads)
        if _refuse_tensor(model, size) is None
    ]


def _refuse_tensor(model: ModelShape, size: int) -> str | None:
    """Return why a model cannot be sharded over `size` devices, or None if it can."""
    if model.heads % size:
        return f"{model.heads} heads do not divide by {size}"
    if not model.latent and model.kv_heads % size and size % model.kv_heads:
        return f"{model.kv_heads} KV heads neither divide by {size} nor divide it"
    widths = {"MLP of width": model.mlp}
    if experts := model.experts:
        widths["shared experts of width"] = experts.shared_size
        if experts.count % size:
            widths[f"{experts.count} experts of width"] = experts.size
    for what, width in widths.items():
        if width % size:
            return f"its {what} {width} does not divide by {size}"
    return None


def find_largest_hidden_split(model: ModelShape) -> int:
    """Return the largest power of two that divides the hidden size; FSDP is even up to it."""
    return model.hidden & -model.hidden


def plan_tpus(model: ModelShape, options: PlanOptions, names: Sequence[str]) -> list[TpuFit]:
    """Return the plan for each named TPU, or for one TPU of each generation if none is named.

    Raises:
        Problem: A TPU is unknown, or the model cannot be sharded over `options.tensor` devices.
    """
    if options.tensor is not None and (reason := _refuse_tensor(model, options.tensor)):
        sizes = phrases.join_words(one.size for one in list_tensor_parallel_sizes(model))
        raise Problem(
            f"this model cannot be sharded over {options.tensor} devices: {reason}",
            hint=f"these sizes divide it: {sizes}",
            code=ExitCode.USAGE,
        )
    if names:
        return [_plan_named(model, options, name) for name in names]
    plans = (_plan_generation(model, options, row) for row in GENERATIONS if row.counts)
    return [plan for plan in plans if plan]


def _plan_named(model: ModelShape, options: PlanOptions, name: str) -> TpuFit:
    try:
        topology = tpus.find_topology(name) if ":" in name else None
        tpu = topology.type if topology else tpus.parse_type(name)
    except LookupError as error:
        raise Problem(str(error), code=ExitCode.USAGE) from error
    if topology and topology.slices > 1:
        what = f"a plan is for one slice: found {topology.name}"
        raise Problem(what, hint=f"name it `{tpu.name}`", code=ExitCode.USAGE)
    plan = plan_tpu(model, options, tpu)
    if plan is None:
        raise Problem(
            f"the {tpu.devices} devices of {tpu.name} do not divide into groups of "
            f"{options.tensor}, as `--tensor` asks",
            code=ExitCode.USAGE,
        )
    return plan


def _plan_generation(
    model: ModelShape, options: PlanOptions, generation: Generation
) -> TpuFit | None:
    """Return the plan for the smallest slice that holds the model, or else for the largest."""
    last = None
    for tpu in tpus.list_slices(generation):
        last = plan_tpu(model, options, tpu) or last
        if last and last.fits:
            break
    return last


def plan_tpu(model: ModelShape, options: PlanOptions, tpu: TpuType) -> TpuFit | None:
    """Return the plan for a TPU, or None if its sizes are unknown or do not divide evenly."""
    hbm = tpus.find_hbm_bytes(tpu.generation)
    if tpu.devices is None or hbm is None:
        return None
    sizes = (
        [options.tensor]
        if options.tensor
        else [one.size for one in list_tensor_parallel_sizes(model)]
        if options.serve
        else [1]
    )
    even = [size for size in sizes if tpu.devices % size == 0]
    if not even:
        return None
    layout = WorkSharding(max(even), tpu.devices // max(even))

    def fits(changed: PlanOptions) -> bool:
        return sum_components(list_memory_components(model, changed, layout)) <= hbm

    return TpuFit(
        tpu=tpu,
        devices=tpu.devices,
        hbm=hbm,
        layout=layout,
        parts=tuple(list_memory_components(model, options, layout)),
        largest_batch=layout.groups
        * _largest(MOST_BATCH, lambda number: fits(replace(options, batch=number))),
        longest_context=_largest(
            model.context, lambda number: fits(replace(options, batch=1, context=number))
        ),
    )


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """Find by binary search the largest number up to `most` that fits, or return 0."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
