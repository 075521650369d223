"""Small programs of JAX and Optax, which compile in seconds."""

from __future__ import annotations

import jax
from checkouts import array, enter, load, put

DATA = ("examples.datasets",)
JAX = enter("jax-ml/jax", ".", without=DATA)
OPTAX = enter("google-deepmind/optax")
KERNELS = JAX / "jax/experimental/pallas/ops/tpu"


def programs(devices):
    """Yield kernels, an example, and algorithms of Optax."""
    device = devices[0]
    double = load("example_kernel", KERNELS / "example_kernel.py").double
    yield "pallas example_kernel double", double, put(device, array((1024, 1024)))

    splash = load("splash", KERNELS / "splash_attention/splash_attention_kernel.py")
    masks = splash.mask_lib
    window = masks.LocalMask((2048, 2048), (512, 0), 0)
    mask = masks.MultiHeadMask([window] * 8)
    kernel = splash.make_splash_mqa(mask, head_shards=1, q_seq_shards=1)
    shared = array((2048, 128), "bfloat16")
    arguments = put(device, array((8, 2048, 128), "bfloat16"), shared, shared)
    yield "splash_attention, a window and one KV head", kernel.__call__, arguments

    mnist = load("mnist_classifier", JAX / "examples/mnist_classifier.py")
    key = jax.eval_shape(lambda: jax.random.key(0))
    _, params = jax.eval_shape(
        lambda seed: (0, mnist.init_random_params(seed, (-1, 784))[1]), key
    )
    batch = array((128, 784)), array((128, 10))
    yield "mnist_classifier gradient", jax.grad(mnist.loss), put(device, params, batch)

    scratch = load("hungarian", OPTAX / "optax/assignment/_hungarian_algorithm.py")
    costs = array((64, 64))
    yield "optax hungarian_algorithm", scratch.hungarian_algorithm, put(device, costs)

    losses = load("optax_losses", OPTAX / "optax/losses/_classification.py")
    arguments = (
        array((16, 256, 128)),
        array((16, 256)),
        array((16, 64), "int32"),
        array((16, 64)),
    )
    yield "optax ctc_loss", losses.ctc_loss, put(device, *arguments)

    projections = load("optax_projections", OPTAX / "optax/projections/_projections.py")
    sphere = projections.projection_simplex
    yield "optax projection_simplex", sphere, put(device, array((65536,)))

    def rank(scores, labels):
        module = load("optax_ranking", OPTAX / "optax/losses/_ranking.py")
        return module.ranking_softmax_loss(scores, labels)

    rows = array((1024, 128))
    yield "optax ranking_softmax_loss gradient", jax.grad(rank), put(device, rows, rows)
