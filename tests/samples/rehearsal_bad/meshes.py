"""A mesh that is set round a `yield`, and three programs of one name in it."""

import jax
from jax.sharding import PartitionSpec as P


def step(x):
    return jax.lax.with_sharding_constraint(x * 2, P("d"))


def programs(devices):
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((len(devices),), ("d",), devices=devices, axis_types=auto)
    with jax.set_mesh(mesh):
        for rows in (64, 128, 128):
            yield "step", step, (jax.ShapeDtypeStruct((rows, 128), "float32"),)
