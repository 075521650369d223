"""One training step of a small transformer, for one device, and three ways to make it smaller.

Layers as in Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762), decoder only, with the layer
norms first and the sizes of the smallest model in Radford et al. 2019 ("Language Models are
Unsupervised Multitask Learners"); trained with Adam (https://arxiv.org/abs/1412.6980).
Found: a batch of 8 fits one device of a v6e and not one of a v5e; each of the others fits both.
"""

from functools import partial

import jax
import jax.numpy as jnp

LAYERS, WIDTH, HEADS, LENGTH, WORDS = 12, 768, 12, 1024, 50257


def make_weights():
    """Return weights; only their shapes and types matter here."""
    layers = {
        "qkv": jnp.zeros((LAYERS, WIDTH, 3 * WIDTH)),
        "out": jnp.zeros((LAYERS, WIDTH, WIDTH)),
        "up": jnp.zeros((LAYERS, WIDTH, 4 * WIDTH)),
        "down": jnp.zeros((LAYERS, 4 * WIDTH, WIDTH)),
        "scales": jnp.ones((LAYERS, 2, WIDTH)),
    }
    return {
        "words": jnp.zeros((WORDS, WIDTH)),
        "places": jnp.zeros((LENGTH, WIDTH)),
        "scale": jnp.ones(WIDTH),
        "layers": layers,
    }


def normalise(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return scale * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def attend(x, layer):
    """Return causal attention of x: [batch, length, width] to itself."""
    batch, length, _ = x.shape
    heads = (batch, length, HEADS, WIDTH // HEADS)
    q, k, v = (part.reshape(heads) for part in jnp.split(x @ layer["qkv"], 3, axis=-1))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (WIDTH // HEADS) ** 0.5
    past = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(past, scores, -1e9), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ layer["out"]


def apply_layer(x, layer):
    x = x + attend(normalise(x, layer["scales"][0]), layer)
    x = x + jax.nn.gelu(normalise(x, layer["scales"][1]) @ layer["up"]) @ layer["down"]
    return x, None


def find_loss(weights, tokens, *, checkpoint, dtype):
    """Return the mean cross entropy of each token after those before it."""
    weights = jax.tree.map(lambda one: one.astype(dtype), weights)
    layer_of = jax.checkpoint(apply_layer) if checkpoint else apply_layer
    x = weights["words"][tokens[:, :-1]] + weights["places"]
    x, _ = jax.lax.scan(layer_of, x, weights["layers"])
    logits = (normalise(x, weights["scale"]) @ weights["words"].T).astype(jnp.float32)
    chances = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(chances, tokens[:, 1:, None], axis=-1).mean()


def train(state, tokens, *, checkpoint=False, dtype="float32"):
    """Return the next state, a step of Adam further, and the loss."""
    weights, mean, square, count = state
    loss, slope = jax.value_and_grad(find_loss)(weights, tokens, checkpoint=checkpoint, dtype=dtype)
    count = count + 1
    mean = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, mean, slope)
    square = jax.tree.map(lambda v, s: 0.999 * v + 0.001 * s * s, square, slope)
    rate = 3e-4 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    steps = jax.tree.map(lambda m, v: rate * m / (jnp.sqrt(v) + 1e-8), mean, square)
    weights = jax.tree.map(jnp.subtract, weights, steps)
    return (weights, mean, square, count), loss


def programs(devices):
    weights = jax.eval_shape(make_weights)
    state = (weights, weights, weights, jax.ShapeDtypeStruct((), "float32"))
    for name, batch, knobs in [
        ("batch of 8", 8, {}),
        ("batch of 4", 4, {}),
        ("8, jax.checkpoint", 8, {"checkpoint": True}),
        ("8, bfloat16", 8, {"dtype": "bfloat16"}),
    ]:
        tokens = jax.ShapeDtypeStruct((batch, LENGTH + 1), "int32")
        yield name, jax.jit(partial(train, **knobs), donate_argnums=0), (state, tokens)
