"""Small models written in JAX without looking at a plan: a Llama, a mixture of experts, a Gemma.

Axes: `v` vocabulary, `d` hidden size, `n` heads, `k` KV heads, `h` size of a head, `f` width of the
MLP, `e` experts, `b` batch, `t` tokens. Each parameter has a spec on a mesh of `data` and `model`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

Params = dict[str, Any]
D, N, K, H, F, V, LAYERS, EXPERTS, TOP, F_EXPERT, WINDOW = 64, 8, 4, 16, 160, 512, 4, 8, 2, 48, 24


@dataclass(frozen=True)
class ReferenceModel:
    """A model with its values of `config.json`."""

    config: dict[str, Any]
    init: Callable[[jax.Array], Params]
    specs: Params
    """Partition specs of the parameters, as a tree like them."""
    layer: Callable[..., jax.Array]
    """One layer: its parameters and `x: [b, t, d]`, to an array like `x`."""
    windows: tuple[int | None, ...]


def _normal(key: jax.Array, *shape: int) -> jax.Array:
    return jax.random.normal(key, shape, jnp.float32)


def norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """Return x with a mean square of 1 in each position, times the scale."""
    wide = x.astype(jnp.float32)
    wide *= jax.lax.rsqrt(jnp.mean(wide**2, -1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype)


@jax.checkpoint
def attend(query: jax.Array, key: jax.Array, value: jax.Array) -> jax.Array:
    """Return attention without keeping scores, as a flash kernel does."""
    tokens = query.shape[1]
    scores = jnp.einsum("btkgh,bskh->bkgts", query, key, preferred_element_type=jnp.float32)
    mask = jnp.tril(jnp.ones((tokens, tokens), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(query.dtype)
    return jnp.einsum("bkgts,bskh->btkgh", weights, value)


def attention(weights: Params, x: jax.Array) -> jax.Array:
    """Return grouped attention with its output projection."""
    batch, tokens, _ = x.shape
    query = (x @ weights["query"]).reshape(batch, tokens, K, N // K, H)
    key = (x @ weights["key"]).reshape(batch, tokens, K, H)
    value = (x @ weights["value"]).reshape(batch, tokens, K, H)
    if "query_norm" in weights:
        query, key = norm(query, weights["query_norm"]), norm(key, weights["key_norm"])
    return attend(query, key, value).reshape(batch, tokens, N * H) @ weights["output"]


def mlp(weights: Params, x: jax.Array) -> jax.Array:
    """Return a gated MLP."""
    return (jax.nn.silu(x @ weights["gate"]) * (x @ weights["up"])) @ weights["down"]


def route(weights: Params, x: jax.Array) -> jax.Array:
    """Return the weighted outputs of each token's experts; no token is dropped."""
    batch, tokens, _ = x.shape
    rows = x.reshape(-1, D)
    gates, chosen = jax.lax.top_k(
        jax.nn.softmax((rows @ weights["router"]).astype(jnp.float32)), TOP
    )
    order = jnp.argsort(chosen.reshape(-1))
    sizes = jnp.bincount(chosen.reshape(-1), length=EXPERTS)
    copies = rows[order // TOP]
    gate, up = (jax.lax.ragged_dot(copies, weights[name], sizes) for name in ("gate", "up"))
    down = jax.lax.ragged_dot(jax.nn.silu(gate) * up, weights["down"], sizes)
    mixed = down * gates.reshape(-1)[order][:, None].astype(x.dtype)
    return jnp.zeros_like(rows).at[order // TOP].add(mixed).reshape(batch, tokens, D)


def _init(key: jax.Array, *, experts: bool, gemma: bool) -> Params:
    """Return all parameters; those of the layers are stacked along the first axis."""
    keys = iter(jax.random.split(key, 16))
    layers: Params = {
        "query": _normal(next(keys), LAYERS, D, N * H),
        "key": _normal(next(keys), LAYERS, D, K * H),
        "value": _normal(next(keys), LAYERS, D, K * H),
        "output": _normal(next(keys), LAYERS, N * H, D),
        "before_attention": jnp.ones((LAYERS, D)),
        "before_mlp": jnp.ones((LAYERS, D)),
    }
    shape = (LAYERS, EXPERTS, D, F_EXPERT) if experts else (LAYERS, D, F)
    layers["gate"], layers["up"] = _normal(next(keys), *shape), _normal(next(keys), *shape)
    layers["down"] = _normal(next(keys), *shape[:-2], *shape[:-3:-1])
    if experts:
        layers["router"] = _normal(next(keys), LAYERS, D, EXPERTS)
    if gemma:
        layers |= {name: jnp.ones((LAYERS, D)) for name in ("after_attention", "after_mlp")}
        layers |= {name: jnp.ones((LAYERS, H)) for name in ("query_norm", "key_norm")}
    ends = {} if gemma else {"unembedding": _normal(next(keys), V, D)}
    return {
        "embedding": _normal(next(keys), V, D),
        "layers": layers,
        "last_norm": jnp.ones(D),
        **ends,
    }


def _specs(*, experts: bool, gemma: bool) -> Params:
    """Return tensor parallelism along `model`, and FSDP of the other axis along `data`."""
    into = P(None, "model", "data", None) if experts else P(None, "data", "model")
    back = P(None, "model", None, "data") if experts else P(None, "model", "data")
    layers: Params = dict.fromkeys(("query", "key", "value"), P(None, "data", "model"))
    layers |= {"output": P(None, "model", "data"), "gate": into, "up": into, "down": back}
    layers |= dict.fromkeys(("before_attention", "before_mlp"), P())
    if experts:
        layers["router"] = P(None, "data", None)
    if gemma:
        names = ("after_attention", "after_mlp", "query_norm", "key_norm")
        layers |= dict.fromkeys(names, P())
    ends = {} if gemma else {"unembedding": P("model", "data")}
    return {"embedding": P("model", "data"), "layers": layers, "last_norm": P(), **ends}


def _layer(weights: Params, x: jax.Array) -> jax.Array:
    inner = route if "router" in weights else mlp
    mixed = attention(weights, norm(x, weights["before_attention"]))
    x = x + (norm(mixed, weights["after_attention"]) if "after_attention" in weights else mixed)
    wide = inner(weights, norm(x, weights["before_mlp"]))
    return x + (norm(wide, weights["after_mlp"]) if "after_mlp" in weights else wide)


def init_cache(model: ReferenceModel, batch: int, tokens: int) -> list[tuple[jax.Array, jax.Array]]:
    """Return keys and values of each layer, `[b, t, k, h]`; a window holds its tokens alone."""
    lengths = (min(tokens, window or tokens) for window in model.windows)
    shapes = ((batch, length, K, H) for length in lengths)
    return [(jnp.zeros(shape, jnp.bfloat16), jnp.zeros(shape, jnp.bfloat16)) for shape in shapes]


CACHE = P("data", None, "model", None)
"""Spec of keys and values: sequences along `data`, and heads along `model`."""
_SIZES = {
    "vocab_size": V,
    "hidden_size": D,
    "intermediate_size": F,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": N,
    "num_key_value_heads": K,
    "head_dim": H,
    "max_position_embeddings": 4096,
}


def _make(config: dict[str, Any], windows: tuple[int | None, ...], **kinds: bool) -> ReferenceModel:
    def init(key: jax.Array) -> Params:
        return _init(key, **kinds)

    return ReferenceModel({**_SIZES, **config}, init, _specs(**kinds), _layer, windows)


MODELS = {
    "llama": _make({"model_type": "llama"}, (None,) * LAYERS, experts=False, gemma=False),
    "mixtral": _make(
        {
            "model_type": "mixtral",
            "intermediate_size": F_EXPERT,
            "num_local_experts": EXPERTS,
            "num_experts_per_tok": TOP,
        },
        (None,) * LAYERS,
        experts=True,
        gemma=False,
    ),
    "gemma3": _make(
        {"model_type": "gemma3_text", "sliding_window": WINDOW, "sliding_window_pattern": 3},
        (WINDOW, WINDOW, None, WINDOW),
        experts=False,
        gemma=True,
    ),
}
