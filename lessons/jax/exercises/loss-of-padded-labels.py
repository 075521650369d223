"""Pick one number per row, and none for padding.

The loss of a language model needs, at each position, the log-probability of
one label. `labels` holds its index, and -1 where the text is padded. As it
stands, a padded position counts as the last word of the vocabulary. Return
the mean of minus the log-probabilities over all positions that have a label,
and 0 if there is none. The gradient at padded positions must be 0.
"""

import jax
import jax.numpy as jnp
import numpy as np


def loss(log_probs, labels):
    """Return float32[] from [b, t, vocabulary] and labels: int32[b, t]."""
    chosen = jnp.take_along_axis(log_probs, labels[..., None], axis=-1)
    return -jnp.mean(chosen)  # your code here


# Judged below: leave this part as it is.


def reference(log_probs, labels):
    """Return the same from NumPy, position by position."""
    losses = []
    for position in np.argwhere(labels >= 0):
        index = tuple(position)
        losses.append(-log_probs[index][labels[index]])
    return float(np.mean(losses)) if losses else 0.0


rng = np.random.default_rng(0)
log_probs = np.log(rng.dirichlet(np.ones(7), (2, 4))).astype(np.float32)
cases = {
    "no padding": [[0, 6, 3, 1], [2, 2, 5, 4]],
    "some padding": [[0, 6, -1, -1], [2, -1, -1, -1]],
    "nothing but padding": [[-1, -1, -1, -1], [-1, -1, -1, -1]],
}
for name, indices in cases.items():
    labels = np.array(indices, np.int32)
    expected = reference(log_probs, labels)
    found = float(jax.jit(loss)(log_probs, labels))
    message = f"{name}: the loss is {found:.3f}, expected {expected:.3f}"
    assert abs(found - expected) < 1e-3, message
    gradient = np.asarray(jax.grad(loss)(jnp.asarray(log_probs), labels))
    padded = gradient[labels < 0]
    message = f"{name}: the gradient at padding is {padded[:1].tolist()}, "
    message += "expected zeros"
    assert not np.any(padded), message
    message = f"{name}: the gradient has a nan, expected numbers"
    assert np.isfinite(gradient).all(), message
print("each label once, and padding never")
