"""Training steps at real sizes, for `tpustarter rehearse`.

Nothing of these sizes is made: the compiler gets shapes.
"""

from dataclasses import replace
from functools import partial

import configs
import jax
import jax.numpy as jnp
import training

SEQUENCES = 8
"""In each step, for each device."""


def programs(devices):
    """Yield training steps of the base and of the large model."""
    yield from data_parallel(devices)
    if len(devices) > 1:
        yield from fsdp(devices)
    if len(devices) % 4 == 0:
        yield from tensor_parallel(devices)


def data_parallel(devices):
    """Yield steps whose state is replicated."""
    rules = configs.Rules(batch="data")
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    with jax.set_mesh(mesh):  # in force while each step is lowered
        yield "base", *step_of(configs.base(rules=rules))
        yield "base remat", *step_of(configs.base(rules=rules, remat=True))
        yield "large remat", *step_of(configs.large(rules=rules, remat=True))


def fsdp(devices):
    """Yield steps whose state is sharded, and gathered before use."""
    rules = configs.Rules(batch="data", embed="data")
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    with jax.set_mesh(mesh):
        for size in (configs.base, configs.large):
            config = size(rules=rules, remat=True)
            yield f"{size.__name__} FSDP remat", *step_of(config)


def mixed_precision(devices):
    """Yield steps that differ in the dtype of their matmuls."""
    rules = configs.Rules(batch="data", embed="data")
    mesh = jax.make_mesh((len(devices),), ("data",), devices=devices)
    with jax.set_mesh(mesh):
        for name in ("float32", "bfloat16"):
            config = configs.base(rules=rules, dtype=jnp.dtype(name))
            yield f"base FSDP {name}", *step_of(config)


def tensor_parallel(devices):
    """Yield steps in which 4 devices compute each block together."""
    tensor = configs.Rules(
        batch="data", heads="model", mlp="model", vocab="model"
    )
    both = replace(tensor, embed="data")
    shape = (len(devices) // 4, 4)
    mesh = jax.make_mesh(shape, ("data", "model"), devices=devices)
    with jax.set_mesh(mesh):
        for name, rules in {"TP": tensor, "FSDP and TP": both}.items():
            config = configs.large(rules=rules, remat=True)
            yield f"large {name} remat", *step_of(config)


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
