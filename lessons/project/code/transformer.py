"""A decoder-only transformer in pure JAX, from its parameters to sampling.

The same code runs a model of 200,000 parameters on a laptop and one of a
billion on a slice. A `Config` of configs.py says which model it is, and
its `Rules` say along which axes of the mesh it is sharded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name


@dataclass(frozen=True)
class Param:
    """What is known of one parameter before it has values."""

    shape: tuple[int, ...]
    axes: tuple[str | None, ...]
    """The logical name of each axis."""
    std: float = 0.0
    """Of its first values; 0 for a scale, which starts at 1."""


def describe_block(config):
    """Return the parameters of one block, each as a `Param`."""
    embed, mlp = config.embed, config.mlp
    heads = (config.heads, config.head_dim)
    std = embed**-0.5
    depth = (2 * config.layers) ** -0.5  # so many outputs are added up
    shared = (config.key_heads, config.head_dim)
    axes = ("embed", "heads", None)
    into_mlp = Param((embed, mlp), ("embed", "mlp"), std)
    return {
        "attention_norm": Param((embed,), ("embed",)),
        "query": Param((embed, *heads), axes, std),
        "key": Param((embed, *shared), axes, std),
        "value": Param((embed, *shared), axes, std),
        "output": Param(
            (*heads, embed), ("heads", None, "embed"), std * depth
        ),
        "mlp_norm": Param((embed,), ("embed",)),
        "gate": into_mlp,
        "up": into_mlp,
        "down": Param((mlp, embed), ("mlp", "embed"), mlp**-0.5 * depth),
    }


def describe(config):
    """Return all parameters; those of the blocks are stacked by layer."""

    def stack(param):
        shape = (config.layers, *param.shape)
        return Param(shape, ("layers", *param.axes), param.std)

    shape = (config.vocab, config.embed)
    return {
        "embedding": Param(shape, ("vocab", "embed"), 0.02),
        "blocks": jax.tree.map(stack, describe_block(config)),
        "final_norm": Param((config.embed,), ("embed",)),
    }


def param_specs(config):
    """Return the partition specs of the parameters, as a tree like them."""
    return jax.tree.map(lambda p: config.spec(*p.axes), describe(config))


def param_count(config):
    """Return how many numbers the parameters are."""
    return sum(math.prod(p.shape) for p in jax.tree.leaves(describe(config)))


def init(config, key):
    """Return random parameters, sharded as the rules say."""
    params, tree = jax.tree.flatten(describe(config))

    def first_values(param, key):
        dtype, spec = config.param_dtype, config.spec(*param.axes)
        if not param.std:
            return jnp.ones(param.shape, dtype, out_sharding=spec)
        values = jax.random.normal(key, param.shape, dtype, out_sharding=spec)
        return param.std * values

    keys = jax.random.split(key, len(params))
    return tree.unflatten(map(first_values, params, keys))


def gather(config, params, described):
    """Return parameters as a matmul takes them: cast, then whole in `embed`.

    With FSDP this is the all-gather. Its transpose, in the backward pass,
    is the reduce-scatter of the gradients.
    """

    def one(value, param):
        if param.std:
            value = value.astype(config.dtype)
        axes = [None if axis == "embed" else axis for axis in param.axes]
        spec = config.spec(*axes)
        return value if spec is None else jax.reshard(value, spec)

    return jax.tree.map(one, params, described)


def rms_norm(x, scale):
    """Return `x` with a mean square of 1 in each position, times `scale`."""
    x32 = x.astype(jnp.float32)
    mean_square = jnp.mean(x32**2, axis=-1, keepdims=True)
    return (x32 * jax.lax.rsqrt(mean_square + 1e-6) * scale).astype(x.dtype)


def rotate(x, positions):
    """Return queries or keys, rotated by angles that grow with positions."""
    half = x.shape[-1] // 2
    frequency = 10_000.0 ** -(jnp.arange(half) / half)
    angle = (positions[:, None] * frequency)[:, None, :]
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    a, b = x[..., :half], x[..., half:]
    rotated = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
    return rotated.astype(x.dtype)


def attention(config, weights, x, positions, *, cache=None, layer=0):
    """Attend from each position to itself and earlier ones.

    Returns the output and the cache. With a cache, the keys and values of
    earlier calls are attended to as well.
    """
    query = jnp.einsum("btd,dhk->bthk", x, weights["query"])
    key = jnp.einsum("btd,dhk->bthk", x, weights["key"])
    value = jnp.einsum("btd,dhk->bthk", x, weights["value"])
    query, key = rotate(query, positions), rotate(key, positions)
    if cache is not None:
        at = (layer, 0, positions[0], 0, 0)
        write = jax.lax.dynamic_update_slice
        cache = {
            "key": write(cache["key"], key[None], at),
            "value": write(cache["value"], value[None], at),
        }
        key, value = cache["key"][layer], cache["value"][layer]
    heads = query.shape  # with g queries for each head h of keys below
    query = query.reshape(*heads[:2], config.key_heads, -1, config.head_dim)
    scores = jnp.einsum(
        "bthgk,bshk->bhgts", query, key, preferred_element_type=jnp.float32
    )
    is_visible = jnp.arange(key.shape[1]) <= positions[:, None]
    scores = jnp.where(is_visible, scores * config.head_dim**-0.5, -jnp.inf)
    probs = jax.nn.softmax(scores, axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhgts,bshk->bthgk", probs, value).reshape(heads)
    spec = config.spec("batch", None, None)
    out = jnp.einsum(
        "bthk,hkd->btd", mixed, weights["output"], out_sharding=spec
    )
    return checkpoint_name(out, "attention"), cache


def mlp(config, weights, x):
    """Return a gated two-layer network of each position alone."""
    gate = jax.nn.silu(jnp.einsum("btd,df->btf", x, weights["gate"]))
    hidden = gate * jnp.einsum("btd,df->btf", x, weights["up"])
    spec = config.spec("batch", None, None)
    out = jnp.einsum("btf,fd->btd", hidden, weights["down"], out_sharding=spec)
    return checkpoint_name(out, "mlp")


def block(config, weights, x, positions, *, cache=None, layer=0):
    """Return `x` after one block, and the cache."""
    x = checkpoint_name(x, "block_input")
    weights = gather(config, weights, describe_block(config))
    normed = rms_norm(x, weights["attention_norm"])
    mixed, cache = attention(
        config, weights, normed, positions, cache=cache, layer=layer
    )
    x = x + mixed
    x = x + mlp(config, weights, rms_norm(x, weights["mlp_norm"]))
    return x, cache


def apply(config, params, tokens, start=0, cache=None):
    """Return the logits after each token, and the cache.

    The tokens, int32[batch, length], are at positions `start` and after it.
    """
    described = describe(config)
    table = gather(config, params["embedding"], described["embedding"])
    scale = gather(config, params["final_norm"], described["final_norm"])
    x = table.at[tokens].get(out_sharding=config.spec("batch", None, None))
    positions = start + jnp.arange(tokens.shape[1])

    def layer(carry, inputs):
        x, cache = carry
        number, weights = inputs
        after = block(config, weights, x, positions, cache=cache, layer=number)
        return after, None

    if config.remat:
        layer = jax.checkpoint(layer, policy=config.remat_policy)
    layers = (jnp.arange(config.layers), params["blocks"])
    (x, cache), _ = jax.lax.scan(layer, (x, cache), layers)
    logits = jnp.einsum(
        "btd,vd->btv",
        rms_norm(x, scale),
        table,
        preferred_element_type=jnp.float32,
    )
    return logits, cache


def forward(config, params, tokens):
    """Return the logits after each token: float32[batch, length, vocab]."""
    return apply(config, params, tokens)[0]


def loss(config, params, batch):
    """Return the mean cross-entropy of each token after the first.

    The batch is int32[batch, length + 1].
    """
    logits = forward(config, params, batch[:, :-1])
    is_target = batch[:, 1:, None] == jnp.arange(config.vocab)
    of_target = jnp.sum(jnp.where(is_target, logits, 0.0), axis=-1)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - of_target)
