"""Give each layer numbers of its own.

`init` makes the weights of a model: one matrix for each pair of neighbours in `sizes`. As it
stands, layers of one shape are twins. Every layer must get other numbers, equal keys must give
equal models, and no key may be used twice.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp


def init(key, sizes):
    """Return a list of matrices `float32[sizes[i], sizes[i + 1]]`."""
    return [jax.random.normal(key, shape) for shape in pairwise(sizes)]  # mend this line


# Judged below: leave this part as it is.


def both(one, two):
    """Return how many numbers stand in both arrays."""
    return int(jnp.isin(one, two).sum())


shapes = [one.shape for one in init(jax.random.key(7), [4, 4, 4, 8])]
assert shapes == [(4, 4), (4, 4), (4, 8)], f"the shapes are {shapes}, expected 4x4, 4x4 and 4x8"
layers = init(jax.random.key(7), [4, 4, 4, 8])
twins = [(i, j) for i in range(3) for j in range(i) if both(layers[i], layers[j]) > 2]
assert not twins, f"layers {twins[0]} share numbers, expected none to"
again = init(jax.random.key(7), [4, 4, 4, 8])
same = all(bool((again[i] == layers[i]).all()) for i in range(3))
assert same, "the same key gave another model, expected the same"
other = init(jax.random.key(8), [4, 4, 4, 8])
crossed = any(both(a, b) > 2 for a in layers for b in other)
assert not crossed, "models of key(7) and key(8) share numbers, expected none"
raw = jax.random.normal(jax.random.key(7), (64,))
taken = any(both(one, raw) > 2 for one in layers)
assert not taken, "a layer uses the key that `init` was given, expected new ones from it"
print("every layer has its own numbers")
