"""The arrays of a model: each one's shape, number of copies and sharding.

The parameter count is the sum over these arrays, so it is exact, and each array has its own
formula. Tensor parallelism over `t` devices shards one axis of a matrix, in whole heads or columns.
FSDP shards the other axis over `d` devices and replicates vectors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tpustarter.planning.model_shape import Experts, LatentAttention, ModelShape

PARTS = (
    "embedding",
    "attention",
    "MLP",
    "shared experts",
    "experts",
    "router",
    "norms",
    "unembedding",
)
"""Uses of the arrays, in model order."""
MATMUL_PARTS = ("attention", "MLP", "shared experts", "experts")
"""Parts whose matrices may be quantised; all other arrays then stay in bfloat16."""


@dataclass(frozen=True)
class WeightArrays:
    """All arrays of a model with the same use and shape."""

    part: str
    name: str
    shape: tuple[int, ...]
    copies: int = 1
    split: int | None = None
    """The axis that tensor parallelism shards; None for an array on every device."""
    units: int | None = None
    """Heads along that axis, which are kept whole; None to shard by columns."""
    experts: Experts | None = None
    """The experts along the first axis; each token uses some of them."""

    @property
    def count(self) -> int:
        """Total number of parameters in all copies."""
        return self.copies * math.prod(self.shape)

    @property
    def active_count(self) -> int:
        """Number of parameters that each token uses."""
        if self.experts is None:
            return self.count
        return self.count * self.experts.per_token // self.experts.count

    @property
    def formula(self) -> str:
        """The copies and the shape as a product, such as `32 x 4096 x 14336`."""
        copies = [self.copies] if self.copies > 1 else []
        return " x ".join(map(str, [*copies, *self.shape]))

    def count_per_device(self, tensor: int, data: int = 1) -> int:
        """Return the number of parameters on one device.

        Args:
            tensor: Number of devices for tensor parallelism.
            data: Number of devices for FSDP.
        """
        sizes = [*self.shape]
        split = self._split_axis(tensor)
        if split is not None:
            units = self.units if self.units and split == self.split else sizes[split]
            sizes[split] = math.ceil(units / tensor) * (sizes[split] // units)
        if (axis := self._data_axis) is not None:
            sizes[axis] = math.ceil(sizes[axis] / data)
        return self.copies * math.prod(sizes)

    @property
    def _data_axis(self) -> int | None:
        """The axis that FSDP shards; in a matrix, the one that tensor parallelism does not."""
        if len(self.shape) == 3:  # experts: the axis of the hidden size
            return 1 if self.split == 2 else 2
        is_matrix = len(self.shape) == 2 and self.experts is None
        return int(self.split == 0) if is_matrix else None

    def _split_axis(self, tensor: int) -> int | None:
        """Return the axis that is sharded; experts stay whole if their number divides evenly."""
        if self.experts is not None and self.experts.count % tensor == 0:
            return 0
        return self.split


@functools.lru_cache(maxsize=4)
def list_arrays(model: ModelShape) -> tuple[WeightArrays, ...]:
    """Return the arrays of a model."""
    vocabulary = (model.vocabulary, model.hidden)
    arrays = [WeightArrays("embedding", "embedding", vocabulary, split=0)]
    if model.latent:
        arrays += _latent_attention(model, model.latent)
    else:
        arrays += _attention(model)
    if model.dense_layers:
        arrays += _mlp(model, "MLP", model.mlp, model.dense_layers, bias=model.mlp_bias)
    if model.experts:
        arrays += _experts(model, model.experts)
    norms = model.family.norms_per_layer * model.layers
    arrays.append(WeightArrays("norms", "norms of layers", (model.hidden,), norms))
    arrays.append(WeightArrays("norms", "last norm", (model.hidden,)))
    if not model.tied:
        arrays.append(WeightArrays("unembedding", "unembedding", vocabulary, split=0))
    return tuple(arrays)


def count_parameters(arrays: Sequence[WeightArrays]) -> dict[str, int]:
    """Return the number of parameters in each part that the model has."""
    counts = {part: sum(array.count for array in arrays if array.part == part) for part in PARTS}
    return {part: count for part, count in counts.items() if count}


def _attention(model: ModelShape) -> Iterator[WeightArrays]:
    layers, hidden, size = model.layers, model.hidden, model.head_size
    for name, heads in (("query", model.heads), ("key", model.kv_heads), ("value", model.kv_heads)):
        wide = heads * size
        yield WeightArrays("attention", name, (hidden, wide), layers, 1, heads)
        if model.qkv_bias:
            yield WeightArrays("attention", f"{name} bias", (wide,), layers, 0, heads)
    wide = model.heads * size
    yield WeightArrays("attention", "output", (wide, hidden), layers, 0, model.heads)
    if model.output_bias:
        yield WeightArrays("attention", "output bias", (hidden,), layers)
    if model.family.sinks:
        yield WeightArrays("attention", "sinks", (model.heads,), layers, 0)
    if model.family.head_norms:
        yield WeightArrays("norms", "query and key norms", (size,), 2 * layers)


def _latent_attention(model: ModelShape, latent: LatentAttention) -> Iterator[WeightArrays]:
    layers, hidden, heads = model.layers, model.hidden, model.heads
    query = heads * (latent.plain_size + latent.rotary_size)
    if latent.query_rank is None:
        yield WeightArrays("attention", "query", (hidden, query), layers, 1, heads)
    else:
        rank = latent.query_rank
        yield WeightArrays("attention", "query compression", (hidden, rank), layers)
        if model.output_bias:
            yield WeightArrays("attention", "query compression bias", (rank,), layers)
        yield WeightArrays("norms", "query norm", (rank,), layers)
        yield WeightArrays("attention", "query", (rank, query), layers, 1, heads)
    rank, compressed = latent.latent_rank, latent.latent_rank + latent.rotary_size
    yield WeightArrays("attention", "key and value compression", (hidden, compressed), layers)
    if model.output_bias:
        yield WeightArrays("attention", "key and value compression bias", (compressed,), layers)
    yield WeightArrays("norms", "key and value norm", (rank,), layers)
    expanded = heads * (latent.plain_size + latent.value_size)
    yield WeightArrays("attention", "key and value", (rank, expanded), layers, 1, heads)
    values = heads * latent.value_size
    yield WeightArrays("attention", "output", (values, hidden), layers, 0, heads)
    if model.output_bias:
        yield WeightArrays("attention", "output bias", (hidden,), layers)


def _mlp(
    model: ModelShape, part: str, width: int, layers: int, *, bias: bool = False
) -> Iterator[WeightArrays]:
    for name in ("gate", "up"):
        yield WeightArrays(part, name, (model.hidden, width), layers, 1)
        if bias:
            yield WeightArrays(part, f"{name} bias", (width,), layers, 0)
    yield WeightArrays(part, "down", (width, model.hidden), layers, 0)
    if bias:
        yield WeightArrays(part, "down bias", (model.hidden,), layers)


def _experts(model: ModelShape, experts: Experts) -> Iterator[WeightArrays]:
    layers, hidden, count, size = model.expert_layers, model.hidden, experts.count, experts.size
    for name in ("gate", "up"):
        yield WeightArrays("experts", name, (count, hidden, size), layers, 2, None, experts)
        if model.family.expert_bias:
            yield WeightArrays("experts", f"{name} bias", (count, size), layers, 1, None, experts)
    yield WeightArrays("experts", "down", (count, size, hidden), layers, 1, None, experts)
    if model.family.expert_bias:
        yield WeightArrays("experts", "down bias", (count, hidden), layers, None, None, experts)
    yield WeightArrays("router", "router", (hidden, count), layers)
    if model.family.router_bias:
        yield WeightArrays("router", "router bias", (count,), layers)
    if experts.shared_size:
        yield from _mlp(model, "shared experts", experts.shared_size, layers)
        if experts.shared_gate:
            yield WeightArrays("router", "gate of the shared expert", (hidden, 1), layers)
