"""A plan as a `tpustarter.plan/1` JSON document, whose published schema is `schema.json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from tpustarter.core.problem import ExitCode
from tpustarter.planning.model_memory import PlanOptions
from tpustarter.planning.model_shape import ModelShape
from tpustarter.planning.plan_text import LEFT_OUT
from tpustarter.planning.rehearsal_comparison import RehearsalComparison
from tpustarter.planning.tpu_fit import TpuFit, list_tensor_parallel_sizes
from tpustarter.planning.weights import count_parameters, list_arrays
from tpustarter.version import __version__

SCHEMA = "tpustarter.plan/1"


def exit_code(plans: Sequence[TpuFit]) -> ExitCode:
    """Return the command's exit code: `FAILED` if any TPU cannot hold the model."""
    return ExitCode.OK if all(plan.fits for plan in plans) else ExitCode.FAILED


def make_json_document(
    model: ModelShape,
    options: PlanOptions,
    plans: Sequence[TpuFit],
    comparisons: Sequence[RehearsalComparison],
    notes: Sequence[str],
) -> dict[str, object]:
    """Return the plan as a JSON document."""
    return {
        "schema": SCHEMA,
        "source": "arithmetic",
        "tool": {"version": __version__},
        "model": _model_fields(model),
        "options": asdict(options),
        "tpus": [_tpu_fields(plan) for plan in plans],
        "left_out": [*LEFT_OUT],
        "rehearsals": [asdict(one) for one in comparisons],
        "notes": [*model.notes, *notes],
        "exit_code": int(exit_code(plans)),
    }


def _model_fields(model: ModelShape) -> dict[str, object]:
    arrays = list_arrays(model)
    counts = count_parameters(arrays)
    return {
        "family": model.family.type,
        "source": model.family.source,
        "layers": model.layers,
        "hidden_size": model.hidden,
        "heads": model.heads,
        "kv_heads": model.kv_heads,
        "vocabulary": model.vocabulary,
        "context": model.context,
        "experts": model.experts.count if model.experts else None,
        "parameters": sum(counts.values()),
        "active_parameters": sum(array.active_count for array in arrays),
        "parts": counts,
        "arrays": [
            {
                "part": array.part,
                "name": array.name,
                "copies": array.copies,
                "shape": [*array.shape],
                "parameters": array.count,
            }
            for array in arrays
        ],
        "tensor_sizes": [asdict(one) for one in list_tensor_parallel_sizes(model)],
    }


def _tpu_fields(plan: TpuFit) -> dict[str, object]:
    return {
        "name": plan.tpu.name,
        "generation": plan.tpu.generation.name,
        "chips": plan.tpu.chips,
        "devices": plan.devices,
        "hbm_bytes": plan.hbm,
        "matmul_dtypes": [*plan.tpu.generation.matmul_dtypes],
        "tensor": plan.layout.tensor,
        "groups": plan.layout.groups,
        "parts": [
            {"name": part.name, "bytes": part.size, "formula": part.formula} for part in plan.parts
        ],
        "needed_bytes": plan.needed,
        "fits": plan.fits,
        "largest_batch": plan.largest_batch,
        "longest_context": plan.longest_context,
    }
