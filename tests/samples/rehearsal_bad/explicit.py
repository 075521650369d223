"""Programs on a mesh with explicit axes, which is a part of the types of their arguments."""

import jax
import jax.numpy as jnp


def programs(devices):
    mesh = jax.make_mesh((len(devices),), ("d",), devices=devices)
    sharding = jax.NamedSharding(mesh, jax.P("d"))

    def step(x, weights, real):
        weights = jax.reshard(weights, jax.P())
        return (x @ weights + jax.reshard(real, sharding)).sum()

    with jax.set_mesh(mesh):
        x = jax.ShapeDtypeStruct((64, 64), "float32", sharding=sharding)
        weights = jax.eval_shape(lambda: jnp.ones((64, 64), out_sharding=jax.P(None, "d")))
        real = jax.device_put(jnp.ones((64, 64)), sharding)
        for name in ("first", "second"):
            yield name, step, (x, weights, real)
    other = jax.make_mesh((len(devices),), ("e",), devices=devices)
    x = jax.ShapeDtypeStruct((64,), "float32", sharding=jax.NamedSharding(other, jax.P("e")))
    yield "its own mesh", jnp.sum, (x,)
