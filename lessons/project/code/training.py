"""Training of the transformer: an optimizer, the state, and one step."""

from functools import partial

import corpus
import jax
import jax.numpy as jnp
import numpy as np
import optax
import transformer


def adamw(peak=6e-3, warmup=20, steps=300, clip=1.0, weight_decay=0.1):
    """Return AdamW with clipped gradients, a warm-up and a cosine decay."""
    rate = optax.warmup_cosine_decay_schedule(0.0, peak, warmup, steps)
    return optax.chain(
        optax.clip_by_global_norm(clip),
        optax.adamw(rate, b2=0.95, weight_decay=weight_decay),
    )


def init_state(config, optimizer, key):
    """Return what a step changes: params, optimizer state, step count."""
    params = transformer.init(config, key)
    opt = optimizer.init(params)
    return {"params": params, "opt": opt, "step": jnp.zeros((), jnp.int32)}


def step(config, optimizer, state, batch):
    """Return the state after one step, and what to log of the step."""

    def loss_fn(params):
        return transformer.loss(config, params, batch)

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    updates, opt = optimizer.update(grads, state["opt"], state["params"])
    params = optax.apply_updates(state["params"], updates)
    state = {"params": params, "opt": opt, "step": state["step"] + 1}
    return state, {"loss": loss, "grad_norm": optax.tree.norm(grads)}


train_step = jax.jit(step, static_argnums=(0, 1), donate_argnums=2)


def fit(config, optimizer, state, tokens, steps, *, batch=16, seed=0):
    """Train on random windows of `tokens`; return the state and losses."""
    rng = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        windows = corpus.sample(rng, tokens, batch, config.length)
        state, metrics = train_step(config, optimizer, state, windows)
        losses.append(metrics["loss"])
    return state, [float(loss) for loss in losses]


@partial(jax.jit, static_argnums=0)
def evaluate(config, params, batch):
    """Return the loss of a batch, without a gradient."""
    return transformer.loss(config, params, batch)
