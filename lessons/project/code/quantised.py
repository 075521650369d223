"""The transformer with weights in int8: one scale for each output channel.

`tpustarter rehearse quantised.py` compiles layers of a real size.
"""

from functools import partial

import jax
import jax.numpy as jnp
import transformer

CONTRACTED = {
    "embedding": (1,),
    "query": (1,),
    "key": (1,),
    "value": (1,),
    "output": (1, 2),
    "gate": (1,),
    "up": (1,),
    "down": (1,),
}
"""The axes that a matmul adds up, of each weight. Axis 0 is the layer."""


def quantise(weight, axes, levels=127):
    """Return int8 numbers, and the scale that turns them back.

    All numbers along `axes` share a scale. With `levels` of 7 the numbers
    are those of a 4-bit type.
    """
    largest = jnp.max(jnp.abs(weight), axis=axes, keepdims=True)
    scale = jnp.where(largest > 0, largest, 1.0) / levels
    numbers = jnp.round(weight / scale).astype(jnp.int8)
    return {"numbers": numbers, "scale": scale}


def dequantise(quantised, dtype):
    """Return a weight as a matmul takes it."""
    values = quantised["numbers"].astype(jnp.float32) * quantised["scale"]
    return values.astype(dtype)


def quantise_params(params, levels=127):
    """Return the parameters, with each weight of a matmul in int8."""

    def one(path, leaf):
        axes = CONTRACTED.get(path[-1].key)
        return leaf if axes is None else quantise(leaf, axes, levels)

    return jax.tree_util.tree_map_with_path(one, params)


def dequantise_params(params, dtype):
    """Return parameters as the transformer takes them."""

    def is_quantised(leaf):
        return isinstance(leaf, dict) and "numbers" in leaf

    def one(leaf):
        return dequantise(leaf, dtype) if is_quantised(leaf) else leaf

    return jax.tree.map(one, params, is_leaf=is_quantised)


def forward(config, params, tokens):
    """Return the logits, with one layer at a time turned back."""
    table = dequantise_params(params["embedding"], config.dtype)
    positions = jnp.arange(tokens.shape[1])

    def layer(x, weights):
        weights = dequantise_params(weights, config.dtype)
        return transformer.block(config, weights, x, positions)[0], None

    x, _ = jax.lax.scan(layer, table[tokens], params["blocks"])
    x = transformer.rms_norm(x, params["final_norm"])
    return jnp.einsum(
        "btd,vd->btv", x, table, preferred_element_type=jnp.float32
    )


def loss(config, params, batch):
    """Return the mean cross-entropy of each token after the first."""
    logits = forward(config, params, batch[:, :-1])
    log_probs = jax.nn.log_softmax(logits)
    of_target = jnp.take_along_axis(log_probs, batch[:, 1:, None], axis=-1)
    return -jnp.mean(of_target)


def programs(devices):
    """Yield 32 layers of 4,096 by 4,096 and 8 rows, for `rehearse`."""

    def bfloat16(x, w):
        return x @ w, None

    def int8_scaled_before(x, stored):
        return x @ dequantise(stored, x.dtype), None

    def int8_scaled_after(x, stored):
        sums = x @ stored["numbers"].astype(x.dtype)
        return (sums * stored["scale"]).astype(x.dtype), None

    shape = (32, 4096, 4096)
    x = jax.ShapeDtypeStruct((8, 4096), jnp.bfloat16)
    stored = {
        "numbers": jax.ShapeDtypeStruct(shape, jnp.int8),
        "scale": jax.ShapeDtypeStruct((32, 1, 4096), jnp.float32),
    }
    for layer in (bfloat16, int8_scaled_before, int8_scaled_after):
        weights = stored
        if layer is bfloat16:
            weights = jax.ShapeDtypeStruct(shape, jnp.bfloat16)
        yield layer.__name__, partial(jax.lax.scan, layer), (x, weights)
