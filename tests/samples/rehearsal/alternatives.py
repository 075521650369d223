"""One step in several ways, small enough to be compiled for a TPU in a second or two."""

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec


def step(params, momentum, x):
    """Add to the momentum, and subtract it."""
    momentum = 0.9 * momentum + jnp.mean(x)
    return params - momentum, momentum


def array(shape, mesh, *spec):
    """Return the type of an array with a sharding."""
    return jax.ShapeDtypeStruct(
        shape, jnp.float32, sharding=NamedSharding(mesh, PartitionSpec(*spec))
    )


def over(devices):
    """Return a mesh of one axis."""
    return jax.make_mesh((len(devices),), ("data",), devices=devices)


def rows(devices, batch):
    """Yield a program whose rows are sharded."""
    yield "double", jax.jit(lambda x: 2 * x), (array((batch, 8192), over(devices), "data", None),)


def shardings(devices):
    """Yield a product with replicated and with sharded weights."""
    mesh = jax.sharding.Mesh(devices, ("data",))
    product = jax.jit(lambda weights, x: jnp.sum(x @ weights))
    x = array((4096, 4096), mesh, "data", None)
    for name, spec in {"replicated": (None, None), "sharded": ("data", None)}.items():
        yield name, product, (array((4096, 4096), mesh, *spec), x)


def donations(devices, width=8192):
    """Yield a step without and with the donation of its state."""
    mesh = over(devices)
    state = array((width, 8192), mesh)
    given = state, state, array((8, 128), mesh)
    yield "plain", jax.jit(step), given
    yield "donated", jax.jit(step, donate_argnames=("params", "momentum")), given


def too_big(devices):
    """Yield the same with a state that fits only if it is donated."""
    yield from donations(devices, 160_000)
