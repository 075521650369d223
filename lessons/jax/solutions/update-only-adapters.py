"""What decides for which arrays gradients exist? And for which arrays the
optimizer keeps averages?

`jax.grad` differentiates with respect to its first argument unless you say
otherwise, and `optimizer.init` makes averages for the tree that it gets.

So give both of them `adapters` alone. `weights` remains an argument of
`loss_fn`, behind it.

`optimizer.update` and `optax.apply_updates` also take trees like
`adapters`: `optimizer.update(grads, opt, adapters)`.

Learned: What is trained is decided by what you differentiate for and what
the optimizer was initialised with, and everything else is frozen.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

optimizer = optax.adamw(1e-2)


def loss_fn(adapters, weights, x, y):
    hidden = jnp.tanh(x @ weights["w"] + (x @ adapters["a"]) @ adapters["b"])
    return jnp.mean((hidden @ weights["out"] - y) ** 2)


def start(adapters, weights):
    """Return the state of the optimizer."""
    return optimizer.init(adapters)


def step(adapters, weights, opt, x, y):
    """Return the adapters and the optimizer's state after one step."""
    grads = jax.grad(loss_fn)(adapters, weights, x, y)
    updates, opt = optimizer.update(grads, opt, adapters)
    return optax.apply_updates(adapters, updates), opt
