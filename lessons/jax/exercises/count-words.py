"""Count the words of a text, as numbers.

`words` holds one number for each word, below `size`. Where the text is shorter than the array, it
holds -1: no word. `count` must return how often each number occurs, and it must work inside
`jax.jit`, where shapes are fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np


def count(words, size):
    """Return `int32[size]`, how often each number stands in `words: int32[n]`."""
    return jnp.zeros(size, jnp.int32).at[words].set(1)  # mend this line


# Judged below: leave this part as it is.

judge = jax.jit(count, static_argnums=1)
found = judge(jnp.array([0, 2, 2, 1, 2]), 4).tolist()
assert found == [1, 1, 3, 0], f"found {found}, expected [1, 1, 3, 0]"
found = judge(jnp.array([0, 3, -1, -1]), 4).tolist()
assert found == [1, 0, 0, 1], f"with two times -1 found {found}, expected [1, 0, 0, 1]"
found = judge(jnp.full(5, -1), 3).tolist()
assert found == [0, 0, 0], f"without a word found {found}, expected [0, 0, 0]"
text = np.random.default_rng(0).integers(-1, 50, 3000)
expected = np.bincount(text[text >= 0], minlength=60).tolist()
found = judge(jnp.asarray(text), 60).tolist()
assert found == expected, f"found {found[:5]}... for a long text, expected {expected[:5]}..."
print("counted, and -1 is no word")
