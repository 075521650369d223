"""Draw only from the most likely tokens.

Top-p sampling keeps the smallest set of tokens whose probabilities add up to
at least `p`, and never draws another one. Sorted from the most likely down,
a token is kept if the sum of those before it is below `p`. Write `top_p`,
which returns the logits with -inf for every token that is not kept. It gets
float32[batch, vocab], and the most likely token is always kept.
"""

import jax
import jax.numpy as jnp
import numpy as np


def top_p(logits, p):
    """Return logits that are -inf outside the smallest set of mass p."""
    probs = jax.nn.softmax(logits, axis=-1)
    keep = probs >= 1 - p  # your code here
    return jnp.where(keep, logits, -jnp.inf)


# Judged below: leave this part as it is.

probs = np.array(
    [
        [0.05, 0.5, 0.15, 0.3],
        [0.97, 0.01, 0.01, 0.01],
        [0.24, 0.26, 0.23, 0.27],
    ]
)
logits = jnp.asarray(np.log(probs), jnp.float32)
CASES = {
    0.2: [[1], [0], [3]],
    0.6: [[1, 3], [0], [0, 1, 3]],
    0.9: [[1, 2, 3], [0], [0, 1, 2, 3]],
    1.0: [[0, 1, 2, 3]] * 3,
}
for p, expected in CASES.items():
    found = np.asarray(jax.jit(top_p)(logits, p))
    assert found.shape == logits.shape, f"the shape is now {found.shape}"
    for row, kept in zip(found, expected):
        tokens = np.where(np.isfinite(row))[0].tolist()
        message = f"p = {p}: kept the tokens {tokens}, expected {kept}"
        assert tokens == kept or p == 1.0, message
    finite = np.isfinite(found)
    same = np.array_equal(found[finite], np.asarray(logits)[finite])
    assert same, "the logits of the tokens that are kept must not change"

keys = jax.random.split(jax.random.key(0), 200)
limited = top_p(logits, 0.6)[0]
drawn = jax.vmap(jax.random.categorical, (0, None))(keys, limited)
print("200 draws with p = 0.6 gave the tokens", np.unique(drawn).tolist())
