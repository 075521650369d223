"""Programs with a batch, of which the stand-in for the compiler takes those of 1,000 rows."""

import threading

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

LARGEST = 1000


def fits(weights, x):
    """A program that fits."""
    return x @ weights


def too_big(weights, x):
    """A program whose name makes the stand-in refuse it."""
    return x @ weights


def array(shape, sharding=None):
    """Return the type of an array."""
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharding)


def choose(batch):
    """Return the step of a batch."""
    return jax.jit(fits if batch <= LARGEST else too_big)


def programs(devices, batch):
    """Yield a step of a batch over all devices, and a program without one."""
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    rows = NamedSharding(mesh, PartitionSpec("data"))
    weights = array((8, 8), NamedSharding(mesh, PartitionSpec()))
    yield "step", choose(batch), (weights, array((batch, 8), rows))
    yield "init", jax.jit(fits), (array((8, 8)), array((8, 8)))


def tripled(devices, batch=96):
    """Yield a step of three parts."""
    if batch % 3:
        raise ValueError(f"no third of {batch}")
    yield "step", choose(batch), (array((8, 8)), array((3, batch // 3, 8)))


def never(devices, batch):
    """Yield a step that fits at no size."""
    yield "step", jax.jit(too_big), (array((8, 8)), array((batch, 8)))


def broken(devices, batch):
    """Yield a step that breaks the compiler beyond some size."""
    step = choose(batch) if batch < 600 else jax.jit(aborts)
    yield "step", step, (array((8, 8)), array((batch, 8)))


def aborts(weights, x):
    """A program whose name makes the stand-in crash."""
    return x @ weights


def fails(devices, batch):
    """Yield nothing, whatever the batch."""
    raise ValueError("no data")


def waits(devices, batch):
    """Yield a step that is never lowered beyond some size."""
    if batch > 512:
        threading.Event().wait()
    yield "step", jax.jit(fits), (array((8, 8)), array((batch, 8)))


def mixed(devices):
    """Yield a step that is compiled, and one that breaks before."""
    yield "whole", jax.jit(fits), (array((8, 8)), array((8, 8)))
    yield "broken", jax.jit(fits), (array((4, 8)), array((8, 8)))


def no_batch(devices):
    """Yield a step without a dimension to search."""
    yield "step", jax.jit(fits), (array((8, 8)), array((8, 8)))


def step(weights, x):
    """A program of two arrays."""
    return x @ weights


def two(devices):
    """Yield a step for two batches, which share their weights and a mesh."""
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    weights = array((8, 8), NamedSharding(mesh, PartitionSpec()))
    for batch in (64, 128):
        rows = array((batch, 8), NamedSharding(mesh, PartitionSpec("data")))
        yield f"step of {batch}", jax.jit(fits), (weights, rows)
