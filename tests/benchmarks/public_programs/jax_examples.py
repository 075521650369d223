"""JAX's own examples: the functions outside of their `__main__`, differentiated as they do."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from checkouts import array, enter, key, load, put, spread
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

DATA = ("examples.datasets", "datasets", "dp_accounting", "matplotlib.pyplot")
EXAMPLES = enter("jax-ml/jax", ".", without=DATA) / "examples"


def programs(devices):
    """Yield a function of each example."""
    device = devices[0]
    scratch = load("mnist_scratch", EXAMPLES / "mnist_classifier_fromscratch.py")
    params = jax.eval_shape(
        lambda: jax.tree.map(jnp.float32, scratch.init_random_params(0.1, [784, 1024, 1024, 10]))
    )
    batch = array((128, 784)), array((128, 10))
    yield "mnist_classifier_fromscratch", jax.grad(scratch.loss), put(device, params, batch)

    spmd = load("spmd_mnist", EXAMPLES / "spmd_mnist_classifier_fromscratch.py")
    spmd.step_size = 0.001  # it is set below `__main__` there
    mesh = Mesh(np.array(devices), ("batch",), axis_types=(jax.sharding.AxisType.Explicit,))
    arguments = spread(mesh, P(), params) + spread(mesh, P("batch"), batch)
    with jax.set_mesh(mesh):
        yield "spmd_mnist_classifier_fromscratch train_step", spmd.train_step, arguments

    private = load("private_sgd", EXAMPLES / "differentially_private_sgd.py")
    _, params = jax.eval_shape(
        lambda seed: (0, private.init_random_params(seed, (-1, 28, 28, 1))[1]), key()
    )
    batch = array((256, 1, 28, 28, 1)), array((256, 10))
    step = partial(private.private_grad, l2_norm_clip=1.0, noise_multiplier=1.1, batch_size=256)
    yield "differentially_private_sgd private_grad", step, put(device, params, batch, key())

    vae = load("mnist_vae", EXAMPLES / "mnist_vae.py")

    def make(seed):
        encoder = vae.encoder_init(seed, (32, 784))[1]
        return encoder, vae.decoder_init(seed, (32, 10))[1]

    params, images = jax.eval_shape(make, key()), array((32, 784), "bool")
    yield "mnist_vae elbo gradient", jax.grad(vae.elbo, 1), put(device, key(), params, images)

    advi = load("advi", EXAMPLES / "advi.py")

    def objective(params, seed):
        return -advi.batch_elbo(advi.funnel_log_density, seed, params, 40)

    params = array((2,)), array((2,))
    yield "advi objective gradient", jax.grad(objective), put(device, params, key())
