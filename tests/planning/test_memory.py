"""The memory of a plan, compared with JAX's shapes and the TPU compiler's counts."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, NamedSharding

from tests.planning import reference_models
from tests.planning.reference_models import MODELS
from tests.planning.test_parameter_counts import model_of
from tpustarter.core.content import read_yaml
from tpustarter.planning.model_memory import (
    BITS,
    PlanOptions,
    Remat,
    WorkSharding,
    kv_cache_memory,
    list_memory_components,
    saved_activations_per_token,
    sum_components,
)

REHEARSED: Any = read_yaml(Path(__file__).with_name("rehearsed_steps.yml").read_text("utf-8"))
SAID = 0.2
"""Largest error of an estimate, as the plan states it."""
GIB = 2**30
LAYOUTS = [(1, 1), (1, 8), (2, 4), (4, 2)]
"""Devices for tensor parallelism, and groups."""


def held_bytes(arrays: Any, specs: Any, tensor: int, groups: int, bits: int) -> int:
    """Return the bytes that JAX keeps of arrays on one device of a mesh."""
    mesh = AbstractMesh((groups, tensor), ("data", "model"))
    counts = jax.tree.map(
        lambda array, spec: math.prod(NamedSharding(mesh, spec).shard_shape(array.shape)),
        arrays,
        specs,
    )
    return sum(jax.tree.leaves(counts)) * bits // 8


@pytest.mark.parametrize("name", MODELS)
def test_state_equals_shapes_in_jax(name: str, tmp_path: Path) -> None:
    """Weights, gradients and Adam, to the byte."""
    reference = MODELS[name]
    params = jax.eval_shape(reference.init, jax.random.key(0))
    options = PlanOptions(context=64, moments="bf16")
    model = model_of(reference.config, tmp_path)
    for tensor, groups in LAYOUTS:
        sharding = WorkSharding(tensor, groups)
        parts = {one.name: one.size for one in list_memory_components(model, options, sharding)}
        weights = held_bytes(params, reference.specs, tensor, groups, 32)

        assert weights == parts["weights"] == parts["gradients"], sharding
        assert weights == parts["Adam"], sharding  # two moments of half the width


@pytest.mark.parametrize("name", MODELS)
def test_cache_equals_shapes_in_jax(name: str, tmp_path: Path) -> None:
    """The cache equals JAX's shapes to the byte, with windows and with copied KV heads."""
    reference = MODELS[name]
    cache = jax.eval_shape(lambda: reference_models.init_cache(reference, 3, 100))
    specs = jax.tree.map(lambda _: reference_models.CACHE, cache)
    model = model_of(reference.config, tmp_path)
    for tensor, bits in product((1, 2, 4, 8), ("bf16", "int8")):
        options = PlanOptions(serve=True, context=100, batch=3, cache=bits)
        held = held_bytes(cache, specs, min(tensor, reference_models.K), 1, BITS[bits])

        assert held == kv_cache_memory(model, options, tensor).size, (tensor, bits)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("remat", ["full", "dots"])
def test_kept_activations_are_near_residuals(name: str, remat: str, tmp_path: Path) -> None:
    """Those that JAX keeps of a layer for the backward pass, beside its weights."""
    reference = MODELS[name]
    policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if remat == "dots" else None
    layer = jax.checkpoint(reference.layer, policy=policy)
    batch, tokens = 3, 48  # no weight has an axis of their product
    params = jax.eval_shape(reference.init, jax.random.key(0))["layers"]
    weights = jax.tree.map(
        lambda array: jax.ShapeDtypeStruct(array.shape[1:], jnp.bfloat16), params
    )
    x = jax.ShapeDtypeStruct((batch, tokens, reference_models.D), jnp.bfloat16)
    backward = jax.eval_shape(lambda *arguments: jax.vjp(layer, *arguments)[1], weights, x)
    kept = sum(
        math.prod(leaf.shape) * leaf.dtype.itemsize
        for leaf in jax.tree.leaves(backward)
        if leaf.shape[:1] in ((batch,), (batch * tokens,), (batch * tokens * reference_models.TOP,))
    )
    model = model_of(reference.config, tmp_path)
    planned = (
        2
        * batch
        * tokens
        * saved_activations_per_token(model, cast("Remat", remat), 1)
        / model.layers
    )

    assert planned == pytest.approx(kept, rel=SAID if remat == "dots" else 0)


@pytest.mark.parametrize("step", REHEARSED["steps"], ids=lambda step: step["name"])
def test_step_is_near_what_compiler_counted(step: dict[str, Any], tmp_path: Path) -> None:
    """A step is near the compiler's count for v5e and v6e, which schedule it differently."""
    model = model_of(REHEARSED["config"], tmp_path)
    options = PlanOptions(context=2048, batch=step["batch"], remat=step["remat"], scores=True)
    parts = list_memory_components(model, options, WorkSharding(step["tensor"], step["groups"]))
    state = sum(part.size for part in parts if part.name in ("weights", "Adam"))

    assert step["state"] == round(state / GIB, 2)
    assert [sum_components(parts) / GIB] * 2 == pytest.approx([step["v5e"], step["v6e"]], rel=SAID)


@pytest.mark.parametrize("row", REHEARSED["gradients"], ids=lambda row: row["name"])
def test_gradient_is_near_what_compiler_counted(row: dict[str, Any], tmp_path: Path) -> None:
    """The gradient is near the compiler's count; weights and gradients are exact."""
    options = PlanOptions(context=1024, batch=8, scores=True)
    parts = list_memory_components(model_of(row["config"], tmp_path), options, WorkSharding(1, 1))
    mib = {part.name: part.size / 2**20 for part in parts}

    assert row["mib"]["arguments"] == round(mib["weights"])
    assert row["mib"]["outputs"] == round(mib["gradients"])
    assert mib["gathered"] + mib["activations"] == pytest.approx(
        row["mib"]["temporaries"], rel=SAID
    )


def test_latent_cache_has_one_vector_a_token(tmp_path: Path) -> None:
    """DeepSeek's: 512 numbers and 64 that are rotated, on every device of a replica."""
    config = {
        "model_type": "deepseek_v3",
        "vocab_size": 512,
        "hidden_size": 64,
        "intermediate_size": 128,
        "moe_intermediate_size": 32,
        "num_hidden_layers": 5,
        "num_attention_heads": 8,
        "max_position_embeddings": 4096,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
        "q_lora_rank": 48,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 16,
        "qk_rope_head_dim": 64,
        "v_head_dim": 16,
    }
    model = model_of(config, tmp_path)
    sizes = {
        kv_cache_memory(model, PlanOptions(serve=True, context=1000), tensor).size
        for tensor in (1, 2, 8)
    }

    assert {5 * 1000 * (512 + 64) * 2} == sizes
