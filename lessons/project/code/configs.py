"""Sizes of models, their number formats, and how they are sharded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Rules:
    """The mesh axis that shards each logical axis; None replicates it.

    Data parallel: Rules(batch="data")
    FSDP: Rules(batch="data", embed="data")
    Tensor parallel: Rules(heads="model", mlp="model", vocab="model")
    """

    batch: Any = None
    vocab: Any = None
    embed: Any = None
    """Of parameters, which are gathered before use; never of activations."""
    heads: Any = None
    mlp: Any = None
    layers: Any = None


@dataclass(frozen=True)
class Config:
    """The sizes of a model, its number formats, and how it is sharded."""

    vocab: int
    embed: int
    heads: int
    mlp: int
    layers: int
    length: int
    """Tokens that the model can look at."""
    kv_heads: int | None = None
    """Heads of keys and values; None for as many as of queries."""
    param_dtype: Any = jnp.float32
    dtype: Any = jnp.float32
    """Of the matmuls and of the activations between them."""
    remat: bool = False
    """True if the backward pass computes the activations of a block again."""
    remat_policy: Callable[..., Any] | None = None
    """Which of them are kept all the same; None keeps none."""
    rules: Rules = Rules()

    @property
    def head_dim(self):
        return self.embed // self.heads

    @property
    def key_heads(self):
        return self.kv_heads or self.heads

    def spec(self, *axes):
        """Return the partition spec of logical axes; None without rules."""
        if self.rules == Rules():
            return None
        return jax.P(*(axis and getattr(self.rules, axis) for axis in axes))


def tiny(**changes):
    """Return a model of 0.2 million parameters, which a CPU can train."""
    config = Config(vocab=128, embed=64, heads=4, mlp=192, layers=4, length=64)
    return replace(config, **changes)


def base(**changes):
    """Return a model of 124 million parameters."""
    config = Config(
        vocab=32_768,
        embed=768,
        heads=6,
        mlp=2560,
        layers=12,
        length=1024,
        dtype=jnp.bfloat16,
    )
    return replace(config, **changes)


def large(**changes):
    """Return a model of a billion parameters."""
    config = Config(
        vocab=32_768,
        embed=2048,
        heads=16,
        mlp=5632,
        layers=18,
        length=2048,
        dtype=jnp.bfloat16,
    )
    return replace(config, **changes)
