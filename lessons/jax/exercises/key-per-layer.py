"""Initialise each layer from its own key.

`init` makes the weights of a model, which is a matrix for each pair of
neighbours in `sizes`. As it stands, layers of equal shape are equal. Make
every layer different. Equal keys must still give equal models, and no key
may be used twice. Splitting counts as use, so once `init` has split the
key that it was given, it must not draw with it.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp


def init(key, sizes):
    """Return a list of matrices: float32[sizes[i], sizes[i + 1]]."""
    # change the line below
    return [jax.random.normal(key, shape) for shape in pairwise(sizes)]


# Judged below: leave this part as it is.


def common(first, second):
    """Return how many numbers stand in both arrays."""
    return int(jnp.isin(first, second).sum())


key = jax.random.key(7)
sizes = [4, 4, 4, 8]
layers = init(key, sizes)
shapes = [layer.shape for layer in layers]
message = f"the shapes are {shapes}, expected 4 by 4 twice and 4 by 8"
assert shapes == list(pairwise(sizes)), message
for i, j in [(0, 1), (0, 2), (1, 2)]:
    count = common(layers[i], layers[j])
    message = f"layers {i} and {j} have {count} numbers in common"
    assert count <= 2, f"{message}, so they were drawn with the same key"
again = init(key, sizes)
equal = all(bool((again[i] == layers[i]).all()) for i in range(3))
assert equal, "the same key gave another model, expected the same one"
other = init(jax.random.key(8), sizes)
crossed = any(common(a, b) > 2 for a in layers for b in other)
assert not crossed, "key(7) and key(8) give equal numbers: use `key`"
from_key = jax.random.normal(key, (64,))
for i in range(3):
    used = common(layers[i], from_key) > 2
    message = f"layer {i} was drawn with the key that `init` was given"
    assert not used, f"{message}; draw with the keys made from it only"
print("every layer has its own numbers")
