"""The memory that a model takes on one device, part by part, each with its formula.

Weights, optimizer state, gradients and the KV cache are exact. Activations are an estimate, because
the compiler decides what is live at the same time. Where a size does not divide evenly, the figures
are for the fullest device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tpustarter.planning.model_shape import ModelShape
from tpustarter.planning.weights import MATMUL_PARTS, PARTS, WeightArrays, list_arrays
from tpustarter.text import phrases

BITS = {"f32": 32, "bf16": 16, "fp8": 8, "int8": 8, "int4": 4}
"""Bits per number of each type that a plan may use."""
QUANTISED = ("fp8", "int8", "int4")
Remat = Literal["full", "dots", "none"]
REMAT: dict[str, str] = {
    "full": "jax.checkpoint on each layer, so its input alone is kept",
    "dots": "jax.checkpoint that also keeps the results of matmuls with weights",
    "none": "no jax.checkpoint, so all that the backward pass needs is kept",
}
"""Description of each rematerialisation policy."""
PREFILL = 2048
"""Maximum number of prompt tokens that a server processes at once."""
FLOAT32 = 4
"""Bytes of a logit or attention score, both computed in float32."""


@dataclass(frozen=True)
class PlanOptions:
    """The assumptions about a run; every figure depends on them."""

    serve: bool = False
    context: int = 4096
    """Tokens per sequence."""
    batch: int = 1
    """Sequences per group of devices that share a batch (training) or per replica (serving)."""
    tensor: int | None = None
    """Devices that share each matrix; None to choose automatically."""
    weights: str = "f32"
    moments: str = "f32"
    """Type of Adam's two moments."""
    activations: str = "bf16"
    cache: str = "bf16"
    remat: Remat = "full"
    scores: bool = False
    """True if attention materialises its score matrix, as it does without a flash kernel."""


@dataclass(frozen=True)
class WorkSharding:
    """The numbers of devices over which a run's work is sharded."""

    tensor: int
    """Devices that share each matrix."""
    groups: int
    """Groups of `tensor` devices. Training shards over them with FSDP; in serving, each holds a
    whole model."""


@dataclass(frozen=True)
class MemoryComponent:
    """One use of a device's memory."""

    name: str
    size: int
    """Bytes."""
    formula: str


def list_memory_components(
    model: ModelShape, options: PlanOptions, layout: WorkSharding
) -> list[MemoryComponent]:
    """Return the parts of a model that take memory on one device, with their sizes."""
    if options.serve:
        return _serving(model, options, layout)
    return _training(model, options, layout)


def sum_components(parts: Sequence[MemoryComponent]) -> int:
    """Return the total size in bytes."""
    return sum(part.size for part in parts)


def sum_cached_tokens_over_layers(model: ModelShape, context: int) -> int:
    """Return the tokens of one sequence that the cache holds, summed over the layers.

    A layer with a sliding window keeps only that window.
    """
    return sum(min(context, window or context) for window in model.windows)


def kv_cache_memory(model: ModelShape, options: PlanOptions, tensor: int) -> MemoryComponent:
    """Return the KV cache's memory on one device."""
    tokens, bits = sum_cached_tokens_over_layers(model, options.context), BITS[options.cache]
    if model.latent:
        # All heads share one vector per token, so tensor parallelism has nothing to shard.
        each = model.latent.latent_rank + model.latent.rotary_size
        numbers = f"({model.latent.latent_rank} + {model.latent.rotary_size})"
    else:
        heads = math.ceil(model.kv_heads / tensor)
        each = 2 * heads * model.head_size
        numbers = f"2 x {phrases.format_count(heads, 'KV head')} x {model.head_size}"
    size = _bytes(options.batch * tokens * each, bits)
    total = f"{tokens:,} tokens of all layers"
    formula = f"{_times(options.batch, 'sequences')}{total} x {numbers} x {_width(bits)}"
    return MemoryComponent("cache", size, formula)


def _training(
    model: ModelShape, options: PlanOptions, layout: WorkSharding
) -> list[MemoryComponent]:
    arrays = list_arrays(model)
    count = sum(one.count_per_device(layout.tensor, layout.groups) for one in arrays)
    whole = sum(one.count for one in arrays)
    devices = phrases.format_count(layout.tensor * layout.groups, "device")
    shared = f"{whole:,} parameters over {devices}, {count:,} on each"
    bits, moment_bits = BITS[options.weights], BITS[options.moments]
    return [
        MemoryComponent("weights", _bytes(count, bits), f"{shared}, x {_width(bits)}"),
        MemoryComponent(
            "Adam", _bytes(2 * count, moment_bits), f"2 x {count:,} x {_width(moment_bits)}"
        ),
        MemoryComponent("gradients", _bytes(count, bits), f"{count:,} x {_width(bits)}"),
        gathered_weights_memory(arrays, options, layout),
        activation_memory(model, options, layout.tensor),
    ]


def gathered_weights_memory(
    arrays: Sequence[WeightArrays], options: PlanOptions, layout: WorkSharding
) -> MemoryComponent:
    """Return the memory of the largest layer's gathered weights, in the compute type."""
    sizes: dict[str, int] = dict.fromkeys(PARTS, 0)
    for one in arrays:
        if one.name != "last norm":
            sizes[one.part] += math.ceil(one.count_per_device(layout.tensor) / one.copies)
    experts = sizes["experts"] + sizes["shared experts"] + sizes["router"]
    layer = sizes["attention"] + sizes["norms"] + max(sizes["MLP"], experts)  # no layer has both
    ends = (one for one in arrays if one.part in ("embedding", "unembedding"))
    largest = max(layer, *(one.count_per_device(layout.tensor) for one in ends))
    bits = BITS[options.activations]
    if layout.groups == 1 and options.weights == options.activations:
        return MemoryComponent(
            "gathered", 0, "nothing, because each device computes with what it holds"
        )
    what = "the largest layer" if largest == layer else "the embedding"
    return MemoryComponent(
        "gathered", _bytes(largest, bits), f"{what}, {largest:,} x {_width(bits)}"
    )


def activation_memory(model: ModelShape, options: PlanOptions, tensor: int) -> MemoryComponent:
    """Return the estimated memory of a training step's activations on one device."""
    tokens, width = options.batch * options.context, BITS[options.activations] // 8
    kept, inside = (
        saved_activations_per_token(model, options.remat, tensor),
        layer_activations_per_token(model, tensor),
    )
    vocabulary, scores = math.ceil(model.vocabulary / tensor), _scores(model, options, tensor)
    numbers = (
        f"{kept:,} kept" if options.remat == "none" else f"{kept:,} kept + {inside:,} of a layer"
    )
    each = (kept if options.remat == "none" else kept + inside) * width + vocabulary * FLOAT32
    formula = f"{tokens:,} tokens x (({numbers}) x {width} B + {vocabulary:,} logits x {FLOAT32} B"
    if scores:
        # If scores are kept, so are their probabilities, in the type of the activations.
        kept_layers = model.layers if options.remat == "none" else 1
        score_width = FLOAT32 + (width if options.remat == "none" else 0)
        each += kept_layers * scores * score_width
        formula += f" + {kept_layers} x {scores:,} scores x {score_width} B"
    return MemoryComponent("activations", tokens * each, f"{formula})")


def _scores(model: ModelShape, options: PlanOptions, tensor: int) -> int:
    """Return the number of attention scores per token in one layer."""
    return math.ceil(model.heads / tensor) * options.context if options.scores else 0


def saved_activations_per_token(model: ModelShape, remat: Remat, tensor: int) -> int:
    """Return the number of values per token that all layers keep until the backward pass."""
    if remat == "full":
        return model.layers * model.hidden
    query, key_and_value, output = _attention_widths(model, tensor)
    if remat == "none":
        # Norms and the activation function also keep their float32 intermediates.
        attention, matmuls = 12 * model.hidden + query + key_and_value + output, 6
    else:
        attention, matmuls = 2 * model.hidden + query + key_and_value, 2
    kept = model.dense_layers * (attention + matmuls * math.ceil(model.mlp / tensor))
    if experts := model.experts:
        routed = matmuls * math.ceil(experts.shared_size / tensor) + experts.count
        if remat == "none":  # the dots policy does not save the experts' grouped matmuls
            routed += experts.per_token * (6 * math.ceil(experts.size / tensor) + 2 * model.hidden)
        kept += model.expert_layers * (attention + routed)
    return kept


def layer_activations_per_token(model: ModelShape, tensor: int) -> int:
    """Return the number of values per token that exist while one layer is recomputed."""
    query, key_and_value, output = _attention_widths(model, tensor)
    attention = 4 * model.hidden + query + key_and_value + output
    if model.experts is None:
        return attention + 4 * math.ceil(model.mlp / tensor)
    routed = 4 * _expert_width(model, tensor) + model.experts.count
    routed += 2 * model.experts.per_token * model.hidden
    return attention + max(routed, 4 * math.ceil(model.mlp / tensor))


def _attention_widths(model: ModelShape, tensor: int) -> tuple[int, int, int]:
    """Return the values per token in queries, in keys and values, and in the heads' output."""
    heads = math.ceil(model.heads / tensor)
    if model.latent is None:
        kv_heads = math.ceil(model.kv_heads / tensor)
        return heads * model.head_size, 2 * kv_heads * model.head_size, heads * model.head_size
    latent = model.latent
    key = latent.plain_size + latent.rotary_size
    return heads * key, heads * (key + latent.value_size), heads * latent.value_size


def _expert_width(model: ModelShape, tensor: int) -> int:
    if model.experts is None:
        return 0
    wide = model.experts.per_token * model.experts.size + model.experts.shared_size
    return math.ceil(wide / tensor)


def _serving(
    model: ModelShape, options: PlanOptions, layout: WorkSharding
) -> list[MemoryComponent]:
    arrays, bits = list_arrays(model), BITS[options.weights]
    counts = [(one, one.count_per_device(layout.tensor)) for one in arrays]
    narrow = sum(count for one, count in counts if one.part in MATMUL_PARTS and len(one.shape) > 1)
    rest = sum(count for _, count in counts) - narrow
    if options.weights in QUANTISED:
        size = _bytes(narrow, bits) + 2 * rest
        formula = f"{narrow:,} of matrices x {_width(bits)} + {rest:,} x 2 B"
    else:
        size, formula = _bytes(narrow + rest, bits), f"{narrow + rest:,} x {_width(bits)}"
    whole = sum(one.count for one in arrays)
    devices = phrases.format_count(layout.tensor, "device")
    shared = f"{whole:,} parameters over {devices}: {formula}"
    return [
        MemoryComponent("weights", size, shared),
        kv_cache_memory(model, options, layout.tensor),
        _serving_activations(model, options, layout.tensor),
    ]


def _serving_activations(model: ModelShape, options: PlanOptions, tensor: int) -> MemoryComponent:
    tokens, width = min(options.context, PREFILL), BITS[options.activations] // 8
    inside, vocabulary = (
        layer_activations_per_token(model, tensor),
        math.ceil(model.vocabulary / tensor),
    )
    scores = _scores(model, options, tensor)
    size = tokens * (inside * width + scores * FLOAT32) + options.batch * vocabulary * FLOAT32
    formula = f"{tokens:,} tokens of a prompt x ({inside:,} of a layer x {width} B"
    formula += f" + {scores:,} scores x {FLOAT32} B)" if scores else ")"
    logits = f"{_times(options.batch, 'sequences')}{vocabulary:,} logits x {FLOAT32} B"
    return MemoryComponent("activations", size, f"{formula} + {logits}")


def _bytes(count: int, bits: int) -> int:
    return -(-count * bits // 8)


def _width(bits: int) -> str:
    return f"{bits / 8:g} B"


def _times(number: int, noun: str) -> str:
    return f"{number:,} {noun} x " if number > 1 else ""
