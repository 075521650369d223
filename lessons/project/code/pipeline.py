"""The transformer as a pipeline: each stage has some of the blocks.

`tpustarter rehearse pipeline.py` compiles its gradient at a real size.
"""

from functools import partial

import configs
import jax
import jax.numpy as jnp
import transformer
from jax import lax


def run_stage(config, blocks, x):
    """Return `x` after the blocks of one stage."""
    positions = jnp.arange(x.shape[1])

    def layer(x, weights):
        x, _ = transformer.block(config, weights, x, positions)
        return x, None

    if config.remat:
        layer = jax.checkpoint(layer)
    return lax.scan(layer, x, blocks)[0]


def run_blocks(config, microbatches, blocks, x):
    """Return `x` after all blocks; for `jax.shard_map`.

    The blocks are those of this device's stage. `x` has all texts, which
    go through the stages in parts: the microbatches.
    """
    stages = lax.axis_size("stage")
    stage = lax.axis_index("stage")
    to_next = [(number, number + 1) for number in range(stages - 1)]
    parts = x.reshape(microbatches, -1, *x.shape[1:])

    def tick(carry, now):
        received, finished = carry
        fresh = parts[jnp.minimum(now, microbatches - 1)]
        done = run_stage(
            config, blocks, jnp.where(stage == 0, fresh, received)
        )
        number = jnp.maximum(now - (stages - 1), 0)
        finished = finished.at[number].set(done)
        return (lax.ppermute(done, "stage", to_next), finished), None

    empty = (jnp.zeros_like(parts[0]), jnp.zeros_like(parts))
    empty = lax.pcast(empty, "stage", to="varying")
    ticks = jnp.arange(microbatches + stages - 1)
    (_, finished), _ = lax.scan(tick, empty, ticks)
    # Only the last stage has finished parts; the sum hands them to all.
    finished = jnp.where(stage == stages - 1, finished, 0)
    return lax.psum(finished, "stage").reshape(x.shape)


def loss(config, microbatches, params, batch):
    """Return what `transformer.loss` returns, on a mesh of stages."""
    table = params["embedding"].astype(config.dtype)
    x = table[batch[:, :-1]]
    x = jax.shard_map(
        partial(run_blocks, config, microbatches),
        in_specs=(jax.P("stage"), jax.P()),
        out_specs=jax.P(),
    )(params["blocks"], x)
    x = transformer.rms_norm(x, params["final_norm"])
    logits = jnp.einsum(
        "btd,vd->btv", x, table, preferred_element_type=jnp.float32
    )
    is_target = batch[:, 1:, None] == jnp.arange(config.vocab)
    of_target = jnp.sum(jnp.where(is_target, logits, 0.0), axis=-1)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - of_target)


def specs(params):
    """Return the partition specs: blocks by layer, everything else whole."""
    by_name = {
        name: jax.P("stage") if name == "blocks" else jax.P()
        for name in params
    }
    return {
        name: jax.tree.map(lambda leaf, spec=by_name[name]: spec, tree)
        for name, tree in params.items()
    }


def programs(devices):
    """Yield the gradient of a model with one layer of `base` a device."""
    config = configs.base(layers=len(devices), remat=True)
    mesh = jax.make_mesh((len(devices),), ("stage",), devices=devices)
    init = partial(transformer.init, config)
    shapes = jax.eval_shape(init, jax.random.key(0))
    with jax.set_mesh(mesh):  # in force while each is lowered
        params = jax.tree.map(
            lambda leaf, spec: jax.ShapeDtypeStruct(
                leaf.shape, leaf.dtype, sharding=jax.NamedSharding(mesh, spec)
            ),
            shapes,
            specs(shapes),
        )
        batch = jax.ShapeDtypeStruct((32, config.length + 1), jnp.int32)
        gradient = jax.grad(partial(loss, config, 16))
        yield "16 microbatches", jax.jit(gradient), (params, batch)
