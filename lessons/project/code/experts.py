"""A mixture of experts: one expert a device, and a router before them.

`tpustarter rehearse experts.py` compiles its gradient at a real size.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


def route(x, router, capacity):
    """Choose one expert for each token, and a slot with it.

    Returns float32[tokens, experts, capacity], 1 where a token has a slot
    and 0 everywhere for a token that found its expert full, and how much
    the router trusts its choice, float32[tokens].
    """
    probs = jax.nn.softmax((x @ router).astype(jnp.float32), axis=-1)
    chosen = jnp.argmax(probs, axis=-1)
    is_chosen = jax.nn.one_hot(chosen, probs.shape[-1])
    number = jnp.cumsum(is_chosen, axis=0) * is_chosen - 1
    slots = jax.nn.one_hot(number, capacity)  # -1 and too large give zeros
    return slots, jnp.max(probs, axis=-1)


def experts(capacity, x, router, up, down):
    """Return each token after its expert; for `jax.shard_map`.

    A device has some tokens, x[tokens, embed], and one expert, up[1, embed,
    mlp] and down[1, mlp, embed]. Every device has the router.
    """
    slots, trust = route(x, router, capacity)
    slots = slots.astype(x.dtype)
    to_send = jnp.einsum("td,tec->ecd", x, slots)
    mine = lax.all_to_all(to_send, "expert", 0, 0, tiled=True)
    done = jax.nn.silu(mine @ up[0]) @ down[0]
    back = lax.all_to_all(done, "expert", 0, 0, tiled=True)
    y = jnp.einsum("ecd,tec->td", back, slots)
    return y * trust[:, None].astype(x.dtype)


def on_mesh(capacity):
    """Return the function of whole arrays, on a mesh of experts."""
    by_expert = jax.P("expert")
    return jax.shard_map(
        partial(experts, capacity),
        in_specs=(by_expert, jax.P(), by_expert, by_expert),
        out_specs=by_expert,
    )


def programs(devices):
    """Yield the gradient of 8 experts as large as an MLP of `large`."""
    count, tokens, embed, mlp = len(devices), 2048, 2048, 5632
    mesh = jax.make_mesh((count,), ("expert",), devices=devices)

    def array(shape, spec):
        sharding = jax.NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=sharding)

    def loss(x, router, up, down):
        capacity = 5 * tokens // (4 * count)  # a quarter more than the mean
        y = on_mesh(capacity)(x, router, up, down)
        return jnp.mean(y.astype(jnp.float32) ** 2)

    arguments = (
        array((count * tokens, embed), jax.P("expert")),
        array((embed, count), jax.P()),
        array((count, embed, mlp), jax.P("expert")),
        array((count, mlp, embed), jax.P("expert")),
    )
    with jax.set_mesh(mesh):
        yield "experts", jax.jit(jax.grad(loss, (1, 2, 3))), arguments
