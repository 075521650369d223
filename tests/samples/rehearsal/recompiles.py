"""Linear regression on batches of their own length each: compiled anew for every one.

JAX compiles once for each set of shapes and types:
https://docs.jax.dev/en/latest/tracing.html

Found: 20 compilations for 20 steps. With `--pad` there is one, for each
batch is filled up to one length, and what was filled in counts nothing.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

LONGEST = 128


@jax.jit
def step(weights, rows, wanted, counts):
    def loss(weights):
        return (counts * (rows @ weights - wanted) ** 2).sum() / counts.sum()

    return weights - 0.1 * jax.grad(loss)(weights)


def main():
    lengths = np.random.default_rng(0).permutation(np.arange(60, 120))[:20]
    weights = jnp.zeros(256)
    for length in lengths:
        rows, counts = np.ones((length, 256), np.float32), np.ones(length, np.float32)
        if "--pad" in sys.argv:
            rest = LONGEST - length
            rows, counts = np.pad(rows, ((0, rest), (0, 0))), np.pad(counts, (0, rest))
        weights = step(weights, rows, counts, counts)
    print("trained on", len(lengths), "batches")


main()
