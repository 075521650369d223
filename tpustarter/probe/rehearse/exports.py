"""Lower the user's functions for a TPU, on CPU devices, into the TPU compiler's input.

Runs in the user's Python, with JAX 0.6.2 or later and without libtpu.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tpustarter.probe.rehearse import (
    captured_constants,
    device_queries,
    jitted_functions,
    lowering_errors,
)
from tpustarter.probe.rehearse.device_queries import DeviceQueries, PatchedDeviceQueries, TpuDevice
from tpustarter.probe.rehearse.rehearsal_messages import (
    ExportedFields,
    LoweredFields,
    LoweringTargetFields,
)
from tpustarter.probe.rehearse.work.program_work import count_work


@dataclass(frozen=True)
class LoweringJob:
    """A function to lower, and its arguments."""

    function: Callable[..., object]
    """A function of arrays, jitted or plain."""
    arguments: Sequence[object]
    """Arrays, or `jax.ShapeDtypeStruct`s; shardings over a mesh are kept."""
    named: Mapping[str, object] = field(default_factory=dict[str, object])
    pmapped: tuple[str, ...] = ()
    """The parameters of a function of `jax.pmap`; empty for other functions."""


def group_by_device_kind(
    tpus: Mapping[str, LoweringTargetFields],
) -> dict[TpuDevice, tuple[str, ...]]:
    """Return the names of TPUs, grouped by device kind and number of cores."""
    kinds: dict[TpuDevice, tuple[str, ...]] = {}
    for name, fields in tpus.items():
        device = device_queries.parse_device(fields)
        kinds[device] = (*kinds.get(device, ()), name)
    return kinds


def lower_for_device(
    answers: PatchedDeviceQueries,
    job: LoweringJob,
    device: TpuDevice | None,
    path: Path,
    *,
    warn: Callable[[str], None],
    own: Path,
) -> tuple[LoweredFields, DeviceQueries]:
    """Lower a program for one kind of TPU; return its fields and its device queries.

    If it could not be lowered, the fields include its `error`.

    Args:
        answers: The context that answers the program's device queries.
        job: The function and its arguments.
        device: The TPU's device; None if the program needs true answers.
        path: The file to write.
        warn: Called with warnings before the program is lowered.
        own: The user's file; errors name its lines.
    """
    fields: LoweredFields
    with answers.answer_for(device) as queries:
        try:
            fields = export_to_file(path, job, answers=answers, warn=warn)
        except Exception as error:  # noqa: BLE001  an error affects only this program
            lowering_errors.print_user_traceback(error, own)
            fields = {
                "error": lowering_errors.describe_error_with_line(error, own),
                "place": lowering_errors.find_user_line(error, own),
                "refused": lowering_errors.is_refusal(error),
                "traceback": lowering_errors.format_user_traceback(error, own),
                "notes": [],
            }
    return fields, queries


def export_to_file(
    path: Path,
    job: LoweringJob,
    *,
    answers: PatchedDeviceQueries | None = None,
    warn: Callable[[str], None] | None = None,
) -> ExportedFields:
    """Lower a function for a TPU into `path`; return the fields needed to compile it.

    Args:
        path: The file to write.
        job: The function and its arguments; shardings over a mesh are kept.
        answers: The context that answers the program's device queries; None for true answers.
        warn: Called with warnings before the program is lowered.
    """
    jax = importlib.import_module("jax")
    export = importlib.import_module("jax.export")
    _hide_own_lines()
    function = job.function
    jitted, values, by_name, notes = jitted_functions.make_jitted(
        jax, function, job.arguments, job.named
    )
    answers = answers or PatchedDeviceQueries(jax)
    with lowering_errors.disable_traceback_filtering(jax), answers.use_abstract_device():
        values, by_name = answers.convert_to_tpu((tuple(values), by_name))
        traced = jitted.trace(*values, **by_name)
        texts = captured_constants.describe_large_constants(jax, function, traced)
        if warn is not None:
            for text in texts:
                warn(text)
        exported = export.export(jitted, platforms=["tpu"])(*values, **by_name)
    path.write_bytes(exported.mlir_module_serialized)
    kept = exported.module_kept_var_idx
    leaves = jax.tree_util.tree_leaves((values, by_name))
    return {
        "artifact": str(path),
        "lowered": {
            "devices": exported.nr_devices,
            "shardy": bool(getattr(jax.config, "jax_use_shardy_partitioner", True)),
            "free_arguments": [exported.in_shardings_hlo[index] is None for index in kept],
            "free_outputs": [sharding is None for sharding in exported.out_shardings_hlo],
            "named": jitted_functions.has_named_arguments(function, jitted),
            "pmapped": [*job.pmapped],
        },
        "arguments": [jitted_functions.format_hlo_type(aval) for aval in exported.in_avals],
        "notes": [*notes, *texts],
        "work": count_work(traced, leaves, exported.nr_devices),
    }


@functools.cache
def _hide_own_lines() -> None:
    """Let JAX leave lines of this program out of the source lines that it records.

    They contain the folder of a run, so a program would differ in each run and never be found among
    the stored answers, and a report would name a line that is not the user's.
    """
    lines = importlib.import_module("jax.extend.source_info_util")
    probe, archive = Path(__file__).parents[1], Path(__file__).parents[3]
    for own in (f"{probe}{os.sep}", str(archive / "__main__.py")):
        lines.register_exclusion(own)
