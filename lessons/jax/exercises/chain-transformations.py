"""Chain transformations of gradients.

An optimizer in the form of Optax is a pair of functions. `init` makes a
state from the parameters. `update` takes gradients and a state, and returns
updates and the new state. Write `chain`, which makes one such pair of
several. Each transformation gets the updates of the one before it, and
keeps a state of its own. The result must work under `jax.jit`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Transformation(NamedTuple):
    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


def chain(*transformations):
    """Return one transformation that applies all, from first to last."""
    first = transformations[0]

    def init(params):
        return first.init(params)  # your code here

    def update(updates, state, params=None):
        return first.update(updates, state, params)  # your code here

    return Transformation(init, update)


# Judged below: leave this part as it is.


def scale(factor):
    def init(params):
        return None

    def update(updates, state, params=None):
        return jax.tree.map(lambda u: factor * u, updates), state

    return Transformation(init, update)


def momentum(decay):
    def init(params):
        return jax.tree.map(jnp.zeros_like, params)

    def update(updates, velocity, params=None):
        velocity = jax.tree.map(lambda v, u: decay * v + u, velocity, updates)
        return velocity, velocity

    return Transformation(init, update)


def weight_decay(rate):
    def init(params):
        return jnp.zeros((), jnp.int32)

    def update(updates, count, params=None):
        added = jax.tree.map(lambda u, p: u + rate * p, updates, params)
        return added, count + 1

    return Transformation(init, update)


def by_hand(decays, factor, rate, steps):
    """Return what momentum, decay and a factor come to, number by number."""
    params = {"w": jnp.array([1.0, -2.0]), "b": jnp.array(0.5)}
    velocities = [jax.tree.map(jnp.zeros_like, params) for _ in decays]
    history = []
    for _ in range(steps):
        updates = jax.tree.map(lambda p: 2 * p, params)
        for index, decay in enumerate(decays):
            old = velocities[index]
            updates = {k: decay * old[k] + u for k, u in updates.items()}
            velocities[index] = updates
        updates = {k: u + rate * params[k] for k, u in updates.items()}
        params = {k: params[k] + factor * u for k, u in updates.items()}
        history.append(params)
    return history


def run(optimizer, steps):
    params = {"w": jnp.array([1.0, -2.0]), "b": jnp.array(0.5)}
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        grads = jax.tree.map(lambda p: 2 * p, params)
        updates, state = optimizer.update(grads, state, params)
        return jax.tree.map(jnp.add, params, updates), state

    history = []
    for _ in range(steps):
        params, state = step(params, state)
        history.append(params)
    return history


CASES = [
    ("one transformation", [scale(-0.1)], ([], -0.1, 0.0)),
    ("momentum, then scale", [momentum(0.9), scale(-0.1)], ([0.9], -0.1, 0)),
    (
        "momentum, decay, scale",
        [momentum(0.9), weight_decay(0.5), scale(-0.1)],
        ([0.9], -0.1, 0.5),
    ),
    (
        "momentum twice",
        [momentum(0.9), momentum(0.5), scale(-0.1)],
        ([0.9, 0.5], -0.1, 0),
    ),
]
for name, transformations, settings in CASES:
    found = run(chain(*transformations), 4)
    for number, right in enumerate(by_hand(*settings, 4), 1):
        pair = float(found[number - 1]["b"]), float(right["b"])
        message = f"{name}, step {number}: found b = {pair[0]:.4f}"
        message += f", expected {pair[1]:.4f}"
        assert abs(pair[0] - pair[1]) < 1e-4, message
inner = chain(momentum(0.9), weight_decay(0.5))
nested = float(run(chain(inner, scale(-0.1)), 4)[-1]["b"])
flat = float(
    run(chain(momentum(0.9), weight_decay(0.5), scale(-0.1)), 4)[-1]["b"]
)
message = f"a chain in a chain: found b = {nested:.4f}, expected {flat:.4f}"
assert abs(nested - flat) < 1e-4, message
print("each transformation has its own state, and their order holds")
