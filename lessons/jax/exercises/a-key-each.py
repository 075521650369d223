"""Give each layer numbers of its own.

`init` makes the weights of a model: a matrix for each pair of neighbours
in `sizes`. As it stands, layers of one shape are twins. See that every
layer has other numbers, that equal keys give equal models, and that no
key is used twice. To split a key is to use it: once `init` has split
the key that it was given, it must not draw with that key.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp


def init(key, sizes):
    """Return a list of matrices: float32[sizes[i], sizes[i + 1]]."""
    # mend the line below
    return [jax.random.normal(key, shape) for shape in pairwise(sizes)]


# Judged below: leave this part as it is.


def shared(one, two):
    """Return how many numbers stand in both arrays."""
    return int(jnp.isin(one, two).sum())


key, sizes = jax.random.key(7), [4, 4, 4, 8]
layers = init(key, sizes)
shapes = [one.shape for one in layers]
message = f"the shapes are {shapes}, expected 4 by 4 twice and 4 by 8"
assert shapes == list(pairwise(sizes)), message
pairs = [(0, 1), (0, 2), (1, 2)]
twins = [pair for pair in pairs if shared(*(layers[i] for i in pair)) > 2]
assert not twins, f"layers {twins[0]} share numbers, expected none to"
again = init(key, sizes)
same = all(bool((again[i] == layers[i]).all()) for i in range(3))
assert same, "the same key gave another model, expected the same"
other = init(jax.random.key(8), sizes)
crossed = any(shared(a, b) > 2 for a in layers for b in other)
assert not crossed, "key(7) and key(8) give equal numbers"
raw = jax.random.normal(key, (64,))
taken = any(shared(one, raw) > 2 for one in layers)
assert not taken, "a layer uses the key of `init`, expected new ones"
print("every layer has its own numbers")
