"""Text from the transformer: a KV cache, and one token after another."""

from functools import partial

import jax
import jax.numpy as jnp
import transformer


def init_cache(config, batch):
    """Return an empty KV cache for `batch` sequences of full length."""
    shape = (config.layers, batch, config.length)
    shape = (*shape, config.key_heads, config.head_dim)
    spec = config.spec("layers", "batch", None, "heads", None)
    empty = jnp.zeros(shape, config.dtype, out_sharding=spec)
    return {"key": empty, "value": empty}


def prefill(config, params, prompt, cache):
    """Read prompts, int32[batch, length], in one pass.

    Returns the logits after the last token of each, and the cache.
    """
    logits, cache = transformer.apply(config, params, prompt, 0, cache)
    return logits[:, -1], cache


def decode(config, params, token, position, cache):
    """Read one more token, int32[batch], at a position all of them have.

    Returns the logits after it, and the cache.
    """
    tokens = token[:, None]
    logits, cache = transformer.apply(config, params, tokens, position, cache)
    return logits[:, -1], cache


def pick(logits, key, temperature):
    """Return one token for each row of logits; temperature 0 is greedy."""
    scaled = logits / jnp.maximum(temperature, 1e-6)
    random = jax.random.categorical(key, scaled)
    return jnp.where(temperature > 0, random, jnp.argmax(logits, axis=-1))


@partial(jax.jit, static_argnums=(0, 3))
def generate(config, params, prompt, count, key, *, temperature=1.0):
    """Return the tokens that follow each prompt: int32[batch, count]."""
    cache = init_cache(config, len(prompt))
    logits, cache = prefill(config, params, prompt, cache)
    keys = jax.random.split(key, count)
    first = pick(logits, keys[0], temperature)

    def one_more(carry, inputs):
        token, cache = carry
        position, key = inputs
        logits, cache = decode(config, params, token, position, cache)
        token = pick(logits, key, temperature)
        return (token, cache), token

    positions = prompt.shape[1] + jnp.arange(count - 1)
    inputs = (positions, keys[1:])
    _, others = jax.lax.scan(one_more, (first, cache), inputs)
    return jnp.concatenate([first[None], others]).T
