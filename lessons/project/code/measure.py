"""The memory of one device, and five steps that shardings share."""

from typing import Any, NamedTuple

import jax
import numpy as np
import training


def kib_on_a_device(tree):
    """Return how many KiB of a tree of arrays the first device holds."""
    total = 0
    for leaf in jax.tree.leaves(tree):
        total += leaf.addressable_shards[0].data.nbytes
    return total / 1024


class Run(NamedTuple):
    """What is known of a training step after five of them."""

    state_kib: float
    """On one device."""
    program: Any
    losses: np.ndarray
    norms: np.ndarray
    """Of the gradients."""


def five_steps(config, mesh, windows):
    """Compile a training step for a mesh, and run it on one batch."""
    optimizer = training.adamw()
    with jax.set_mesh(mesh):
        state = training.init_state(config, optimizer, jax.random.key(0))
        spec = config.spec("batch", None) or jax.P()
        batch = jax.device_put(windows, spec)
        state_kib = kib_on_a_device(state)
        program = training.train_step.lower(
            config, optimizer, state, batch
        ).compile()
        logged = []
        for _ in range(5):
            state, metrics = program(state, batch)
            logged.append([metrics["loss"], metrics["grad_norm"]])
    losses, norms = np.array(jax.device_get(logged)).T
    return Run(state_kib, program, losses, norms)
