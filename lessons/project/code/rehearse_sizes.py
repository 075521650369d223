"""Training steps at real sizes, for `tpustarter rehearse`.

Nothing of these sizes is made: the compiler gets shapes.
"""

from functools import partial

import configs
import jax
import jax.numpy as jnp
import training

SEQUENCES = 8
"""In each step, for each device."""


def programs(devices):
    """Yield training steps of the base and of the large model."""
    rules = {"": configs.Rules(batch="data")}
    if len(devices) > 1:
        rules[" FSDP"] = configs.Rules(batch="data", embed="data")
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    with jax.set_mesh(mesh):  # in force while each step is lowered
        for size in (configs.base, configs.large):
            for how, rule in rules.items():
                name = size.__name__ + how
                yield name, *step_of(size(rules=rule))
                yield f"{name} remat", *step_of(size(rules=rule, remat=True))


def step_of(config):
    """Return the training step of a model, and shapes for its arguments."""
    optimizer = training.adamw()
    step = partial(training.step, config, optimizer)
    init = partial(training.init_state, config, optimizer)
    state = jax.eval_shape(init, jax.random.key(0))
    mesh = jax.sharding.get_mesh()
    batch = jax.ShapeDtypeStruct(
        (SEQUENCES * mesh.size, config.length + 1),
        jnp.int32,
        sharding=jax.NamedSharding(mesh, config.spec("batch", None)),
    )
    return jax.jit(step, donate_argnums=0), (state, batch)
