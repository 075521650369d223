"""What a device holds and sends, and five steps that shardings share."""

import re
from collections import Counter
from typing import Any, NamedTuple

import jax
import numpy as np
import training

NAMES = "all-(?:reduce|gather|to-all)|reduce-scatter|collective-permute"


def kib_on_a_device(tree):
    """Return how many KiB of a tree of arrays the first device holds."""
    total = 0
    for leaf in jax.tree.leaves(tree):
        total += leaf.addressable_shards[0].data.nbytes
    return total / 1024


def collectives(program):
    """Count the collectives in the text of a compiled program, by name."""
    # A TPU may start one early: all-gather-start, then all-gather-done.
    found = re.findall(rf" ({NAMES})(?:-start)?\(", program.as_text())
    return dict(sorted(Counter(found).items()))


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
