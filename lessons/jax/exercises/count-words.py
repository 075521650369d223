"""Count the words of a text with a scatter-add.

`words` holds an id for each word, from 0 to `size - 1`. Where the text is
shorter than the array, it is padded with -1. Return how often each id
occurs. The function must work inside `jax.jit`, where shapes are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np


def count(words, size):
    """Return int32[size]: how often each number is in words: int32[n]."""
    return jnp.zeros(size, jnp.int32).at[words].set(1)  # fix this line


# Judged below: leave this part as it is.

judge = jax.jit(count, static_argnums=1)


def expect(expected, words, size):
    found = judge(jnp.asarray(words), size).tolist()
    message = f"counts of {words}: found {found}, expected {expected}"
    assert found == expected, message


expect([1, 1, 3, 0], [0, 2, 2, 1, 2], 4)
expect([1, 0, 0, 1], [0, 3, -1, -1], 4)
expect([0, 0, 0], [-1, -1, -1, -1], 3)
text = np.random.default_rng(0).integers(-1, 50, 3000)
expected = np.bincount(text[text >= 0], minlength=60).tolist()
found = judge(jnp.asarray(text), 60).tolist()
message = f"a long text: found {found[:5]}..., expected {expected[:5]}..."
assert found == expected, message
print("every word counted, and no padding")
