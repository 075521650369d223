"""Train the adapters, and nothing else, with JAX and Optax.

`start` returns what training keeps between steps, and `step` returns it
after one step, together with the adapters. The weights are an argument of
`step` and must not be trained, so neither gradients nor averages of AdamW
may exist for them. The version below trains everything.
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
    return optimizer.init((adapters, weights))  # your code here


def step(adapters, weights, opt, x, y):
    """Return the adapters and the optimizer's state after one step."""
    grads = jax.grad(loss_fn, argnums=(0, 1))(adapters, weights, x, y)
    updates, opt = optimizer.update(grads, opt, (adapters, weights))
    adapters, weights = optax.apply_updates((adapters, weights), updates)
    return adapters, opt


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)


def normal(*shape):
    return jnp.asarray(rng.normal(size=shape) / np.sqrt(shape[0]), jnp.float32)


weights = {"w": normal(32, 64), "out": normal(64, 4)}
adapters = {"a": normal(32, 2), "b": jnp.zeros((2, 64))}
x, y = normal(128, 32) * 10, normal(128, 4) * 5
first = float(loss_fn(adapters, weights, x, y))

opt = start(adapters, weights)
size = sum(leaf.size for leaf in jax.tree.leaves(opt))
allowed = 2 * (32 * 2 + 2 * 64) + 1
message = f"the optimizer keeps {size} numbers, expected at most {allowed}"
assert size <= allowed, message
jitted = jax.jit(step)
for _ in range(100):
    result = jitted(adapters, weights, opt, x, y)
    message = "step must return the adapters and the state"
    assert len(result) == 2 and set(result[0]) == {"a", "b"}, message
    adapters, opt = result
last = float(loss_fn(adapters, weights, x, y))
message = f"the loss went from {first:.3f} to {last:.3f}: expected it to fall"
assert last < 0.8 * first, message
moved = float(jnp.abs(adapters["b"]).max())
assert moved > 0.01, "b is still zero"
print(f"{size} numbers in the optimizer, and the loss falls")
