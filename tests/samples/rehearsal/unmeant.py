"""Data parallel work on a mesh of all devices, in which more travels than was meant.

A batch is cut along `d`, weights are copied: nothing has to travel for a result per row.
https://docs.jax.dev/en/latest/parallel.html; the arithmetic of such products is told in
https://jax-ml.github.io/scaling-book/sharding/.

Found: weights left cut along `d`, as another program wants them, are gathered on every device;
a batch normalised by its own mean and variance (https://arxiv.org/abs/1502.03167) adds up over
all devices; a row by its own (layer norm, https://arxiv.org/abs/1607.06450) does not.
"""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH, WIDTH = 4096, 8192


def apply(batch, weights):
    return jax.nn.relu(batch @ weights)


def normalise_batch(batch):
    return (batch - batch.mean(0)) * jax.lax.rsqrt(batch.var(0) + 1e-5)


def normalise_rows(batch):
    mean, variance = batch.mean(1, keepdims=True), batch.var(1, keepdims=True)
    return (batch - mean) * jax.lax.rsqrt(variance + 1e-5)


def programs(devices):
    mesh = Mesh(np.array(devices), ("d",))

    def array(shape, *cut):
        sharding = NamedSharding(mesh, PartitionSpec(*cut))
        return jax.ShapeDtypeStruct(shape, "bfloat16", sharding=sharding)

    rows = NamedSharding(mesh, PartitionSpec("d"))
    batch = array((BATCH, WIDTH), "d")
    jitted = jax.jit(apply, out_shardings=rows)
    yield "weights cut", jitted, (batch, array((WIDTH, WIDTH), "d"))
    yield "weights copied", jitted, (batch, array((WIDTH, WIDTH)))
    yield "batch norm", jax.jit(normalise_batch, out_shardings=rows), (batch,)
    yield "layer norm", jax.jit(normalise_rows, out_shardings=rows), (batch,)
