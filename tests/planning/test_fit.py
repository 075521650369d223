"""The TPUs that hold a model, how it is sharded over them, and how much more fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.planning.test_model_shape import MOE, SMALL
from tests.planning.test_parameter_counts import PUBLISHED, model_of
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.generations import GENERATIONS
from tpustarter.planning.model_memory import PlanOptions, list_memory_components, sum_components
from tpustarter.planning.model_shape import ModelShape
from tpustarter.planning.plan_text import format_table
from tpustarter.planning.tpu_fit import (
    TpuFit,
    find_largest_hidden_split,
    list_tensor_parallel_sizes,
    plan_tpus,
)
from tpustarter.text.terminal import WIDTH

CONFIGS = {row["name"]: row["config"] for row in PUBLISHED}
SERVE = PlanOptions(serve=True, context=4096, weights="bf16")


@pytest.mark.parametrize(
    ("name", "sizes", "copies", "padded"),
    [
        ("Llama 3.1 8B", [1, 2, 4, 8, 16, 32], [16, 32], []),
        ("Llama 2 7B", [1, 2, 4, 8, 16, 32], [], []),
        # 28 heads; its MLP of 18944 divides by neither 7 nor 14
        ("Qwen2.5 7B", [1, 2, 4], [], []),
        ("Gemma 2B", [1, 2, 4, 8], [2, 4, 8], []),
        ("GPT-OSS 20B", [1, 2, 4, 8, 16, 32, 64], [16, 32, 64], []),
        ("DeepSeek V2 Lite", [1, 2, 4, 8, 16], [], []),
    ],
)
def test_tensor_sizes_divide_model(
    name: str, sizes: list[int], copies: list[int], padded: list[int], tmp_path: Path
) -> None:
    """Tensor sizes divide heads and MLP or experts; a KV head may have several devices."""
    found = list_tensor_parallel_sizes(model_of(CONFIGS[name], tmp_path))

    assert sizes == [one.size for one in found]
    assert copies == [one.size for one in found if one.kv_copies > 1]
    assert padded == [one.size for one in found if one.padded_vocabulary]


def test_vocabulary_is_padded_where_uneven(tmp_path: Path) -> None:
    """An uneven vocabulary is padded to the next multiple; FSDP divides by a power of two."""
    model = model_of({**SMALL, "vocab_size": 514, "hidden_size": 48}, tmp_path)

    assert [None, None, 516] == [one.padded_vocabulary for one in list_tensor_parallel_sizes(model)]
    assert 16 == find_largest_hidden_split(model)


def one_more(model: ModelShape, options: PlanOptions, plan: TpuFit, **changes: int) -> int:
    """Return the bytes of a device with other options."""
    return sum_components(list_memory_components(model, replace(options, **changes), plan.layout))


def test_topology_is_planned_as_its_type(tmp_path: Path) -> None:
    """A topology of one slice is planned like its type, and several slices are refused."""
    model, options = model_of(CONFIGS["Llama 3.1 8B"], tmp_path), PlanOptions()
    by_type, by_topology = (plan_tpus(model, options, [name]) for name in ("v5p-64", "v5p:2x4x4"))

    assert by_type == by_topology
    with pytest.raises(Problem, match="a plan is for one slice"):
        plan_tpus(model, options, ["2xv5p:2x4x4"])


@pytest.mark.parametrize("options", [PlanOptions(), SERVE, PlanOptions(remat="dots", scores=True)])
@pytest.mark.parametrize("name", ["Llama 3.1 8B", "Gemma 2 9B", "Mixtral 8x7B v0.1"])
def test_largest_batch_and_context_are_exact(
    name: str, options: PlanOptions, tmp_path: Path
) -> None:
    """One sequence more, or one token more, does not fit."""
    model = model_of(CONFIGS[name], tmp_path)
    for plan in plan_tpus(model, options, ["v6e-64", "v5p-128", "v5e-8"]):
        batch, rest = divmod(plan.largest_batch, plan.layout.groups)
        context = plan.longest_context

        assert rest == 0
        assert plan.fits == (batch > 0)
        if batch:
            assert one_more(model, options, plan, batch=batch) <= plan.hbm
        assert one_more(model, options, plan, batch=batch + 1) > plan.hbm
        if context:
            assert one_more(model, options, plan, context=context) <= plan.hbm
        if context < model.context:
            assert one_more(model, options, plan, context=context + 1) > plan.hbm


def test_smallest_slice_of_each_generation_is_named(tmp_path: Path) -> None:
    """Half of it does not hold the model."""
    model = model_of(CONFIGS["Llama 3.1 8B"], tmp_path)
    plans = plan_tpus(model, PlanOptions(), [])

    assert [row.name for row in GENERATIONS if row.counts] == [
        plan.tpu.generation.name for plan in plans
    ]
    assert ["v5e-16", "v6e-8"] == [
        plan.tpu.name for plan in plans if plan.tpu.generation.name in ("v5e", "v6e")
    ]
    assert all(plan.fits for plan in plans)
    assert [False, True] == [
        plan.fits for plan in plan_tpus(model, PlanOptions(), ["v5e-8", "v5e-16"])
    ]


def test_model_without_slice_has_largest_one(tmp_path: Path) -> None:
    """A model that fits no slice gets the largest one, with the missing memory."""
    model = model_of(CONFIGS["DeepSeek V3"], tmp_path)
    plans = {plan.tpu.generation.name: plan for plan in plan_tpus(model, PlanOptions(), [])}

    assert not plans["v5e"].fits
    assert "v5e-256" == plans["v5e"].tpu.name
    assert (0, 0) == (plans["v5e"].largest_batch, plans["v5e"].longest_context)


@pytest.mark.parametrize(
    ("config", "options", "names", "words"),
    [
        (SMALL, PlanOptions(tensor=3), [], "4 heads do not divide by 3"),
        (SMALL, PlanOptions(tensor=4), ["v5e-1"], "groups of 4"),
        (SMALL, PlanOptions(), ["v5e-7"], "v5e-7"),
        (SMALL, PlanOptions(), ["tpu8i-8"], "tpu8i-8"),
        ({**SMALL, "intermediate_size": 7}, PlanOptions(tensor=2), [], "MLP of width 7"),
        (
            {**MOE, "num_local_experts": 3, "intermediate_size": 7},
            PlanOptions(tensor=2),
            [],
            "3 experts of width 7",
        ),
        (
            {**SMALL, "num_attention_heads": 12, "num_key_value_heads": 4, "head_dim": 8},
            PlanOptions(tensor=6),
            [],
            "4 KV heads neither",
        ),
    ],
)
def test_uneven_request_is_one_error(
    config: dict[str, Any], options: PlanOptions, names: list[str], words: str, tmp_path: Path
) -> None:
    """A request that doesn't divide evenly is one usage error with the reason."""
    with pytest.raises(Problem) as found:
        plan_tpus(model_of(config, tmp_path), options, names)

    assert words in found.value.summary
    assert ExitCode.USAGE == found.value.code


def test_largest_sizes_end_with_plan(tmp_path: Path) -> None:
    """The largest sizes still give a plan, which doesn't fit, and a table within its width."""
    sizes = {key: 2**31 for key in MOE if key not in ("model_type", "num_hidden_layers")}
    huge = {**MOE, **sizes, "num_hidden_layers": 10_000, "head_dim": 2**31}
    model = model_of(huge, tmp_path)
    plans = plan_tpus(model, PlanOptions(), ["tpu7x-16384", "v5e-1"])

    assert [False, False] == [plan.fits for plan in plans]
    assert [] == [row for row in format_table(plans) if len(row) > WIDTH]
