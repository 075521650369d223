"""Training steps of Haiku's own examples."""

from __future__ import annotations

import haiku as hk
import jax
import jax.numpy as jnp
from checkouts import array, enter, load, put

EXAMPLES = enter("google-deepmind/dm-haiku", ".", without=("tensorflow_datasets",)) / "examples"


def programs(devices):
    """Yield the language model's update and the classifier's gradient."""
    train = load("transformer_train", EXAMPLES / "transformer/train.py")
    tokens = array((train.BATCH_SIZE, train.SEQUENCE_LENGTH), "int32")
    batch = train.dataset.Batch(inputs=tokens, targets=tokens)
    seed = jax.eval_shape(lambda: jax.random.PRNGKey(0))
    state = jax.eval_shape(train.init, seed, batch)
    yield "transformer update", train.update, put(devices[0], state, batch)

    mnist = load("haiku_mnist", EXAMPLES / "mnist.py")
    network = hk.without_apply_rng(hk.transform(mnist.net_fn))
    images = array((1000, 28, 28, 1), "uint8")
    params = jax.eval_shape(network.init, seed, images)

    def loss(params, images, labels):
        scores = jax.nn.log_softmax(network.apply(params, images))
        return -jnp.mean(jnp.sum(scores * jax.nn.one_hot(labels, 10), axis=-1))

    labels = array((1000,), "int32")
    yield "mnist gradient", jax.grad(loss), put(devices[0], params, images, labels)
