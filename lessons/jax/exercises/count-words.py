"""Count the words of a text, as numbers.

`words` holds a number for each word: 0, 1 and so on, below `size`. Where
the text is shorter than the array, it holds -1: no word. Return how often
each number occurs. It must work inside `jax.jit`, where shapes are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np


def count(words, size):
    """Return int32[size]: how often each number is in words: int32[n]."""
    return jnp.zeros(size, jnp.int32).at[words].set(1)  # mend this line


# Judged below: leave this part as it is.

judge = jax.jit(count, static_argnums=1)


def expect(right, words, size):
    found = judge(jnp.asarray(words), size).tolist()
    message = f"counts of {words}: found {found}, expected {right}"
    assert found == right, message


expect([1, 1, 3, 0], [0, 2, 2, 1, 2], 4)
expect([1, 0, 0, 1], [0, 3, -1, -1], 4)
expect([0, 0, 0], [-1, -1, -1, -1], 3)
text = np.random.default_rng(0).integers(-1, 50, 3000)
right = np.bincount(text[text >= 0], minlength=60).tolist()
found = judge(jnp.asarray(text), 60).tolist()
message = f"a long text: found {found[:5]}..., expected {right[:5]}..."
assert found == right, message
print("counted, and -1 is no word")
