"""Every transformation needs a state of its own. What could the state of the
whole chain be?

A tuple with one state for each of them is a pytree, so `jax.jit` takes it.
`init` makes it with `tuple(t.init(params) for t in transformations)`.

In `update`, go through transformations and states together. What one
returns as updates is what the next one gets. Collect the new states in a
list, and return them as a tuple.

Learned: Optimizers that are pairs of pure functions with an explicit state
can be chained, nested and compiled like any other function.
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

    def init(params):
        return tuple(one.init(params) for one in transformations)

    def update(updates, state, params=None):
        new_states = []
        for one, old in zip(transformations, state, strict=True):
            updates, new = one.update(updates, old, params)
            new_states.append(new)
        return updates, tuple(new_states)

    return Transformation(init, update)
