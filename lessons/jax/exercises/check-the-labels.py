"""Say which label is out of range, from inside a jitted loss.

Labels outside of 0 to 9 are a mistake in the data. Indexing with them
raises no error in JAX, because an index past the end is moved to the edge.
Complete `loss`, so that the checked function reports the largest label if
it is 10 or more, and the smallest if it is negative. The message begins
with `label` and has the number, as in `label 12 is not below 10`. Use
`checkify.check(condition, message, name=value)`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify


def loss(logits, labels):
    """Return the mean cross-entropy of float32[rows, 10], int32[rows]."""
    checkify.check(True, "label {v}", v=jnp.max(labels))  # your code here
    picked = jnp.take_along_axis(
        jax.nn.log_softmax(logits), labels[:, None], axis=1, mode="clip"
    )
    return -jnp.mean(picked)


# Judged below: leave this part as it is.

checked = jax.jit(checkify.checkify(loss, errors=checkify.user_checks))
rng = np.random.default_rng(0)
logits = jnp.asarray(rng.normal(size=(6, 10)), jnp.float32)


def message_for(labels):
    error, _ = checked(logits, jnp.array(labels))
    return error.get()


good = message_for([0, 9, 3, 3, 1, 5])
assert good is None, f"good labels were refused: {good}"
for labels, number in [
    ([0, 12, 3, 3, 1, 5], 12),
    ([0, 10, 3, 3, 1, 5], 10),
    ([0, 2, -3, 3, 1, 5], -3),
]:
    found = message_for(labels)
    assert found is not None, f"label {number} was accepted"
    message = f"the message does not name label {number}: {found}"
    assert found.startswith("label") and f"{number}" in found, message
_, value = checked(logits, jnp.array([0, 9, 3, 3, 1, 5]))
log_probs = np.asarray(jax.nn.log_softmax(logits))
expected = -log_probs[np.arange(6), [0, 9, 3, 3, 1, 5]].mean()
assert abs(float(value) - expected) < 1e-4, "the loss itself has changed"
print("bad labels have a name, and good ones cost nothing to read")
