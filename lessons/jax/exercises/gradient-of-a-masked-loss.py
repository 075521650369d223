"""Keep padding out of a gradient.

`loss` is the mean distance between predictions and targets. The last rows
of the batch are padding: their `x` and `targets` are zero, and their
`mask` is False. Change `loss` so that it is the mean over the real rows,
and so that its gradient is the gradient of that mean, without a `nan`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def loss(weights, x, targets, mask):
    """Return the mean distance over the rows where `mask` is True."""
    squared = jnp.sum((x @ weights - targets) ** 2, axis=1)
    distance = jnp.sqrt(squared)
    return jnp.mean(distance)  # your code here: mask is not used yet


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
weights = rng.standard_normal((4, 3)).astype(np.float32)
real_x = rng.standard_normal((5, 4)).astype(np.float32)
real_targets = rng.standard_normal((5, 3)).astype(np.float32)
error = real_x @ weights - real_targets
length = np.sqrt((error**2).sum(axis=1))
expected = float(length.mean())
direction = error / length[:, None]
expected_gradient = real_x.T @ direction / 5

x = np.pad(real_x, ((0, 3), (0, 0)))
targets = np.pad(real_targets, ((0, 3), (0, 0)))
mask = np.arange(8) < 5
arguments = (weights, x, targets, mask)
with jax.default_matmul_precision("float32"):
    value, gradient = jax.jit(jax.value_and_grad(loss))(*arguments)
found = float(value)
message = f"the loss is {found:.4f}, expected {expected:.4f}"
if abs(found - expected * 5 / 8) < 1e-3:
    message += ": you divide by all 8 rows, and 5 of them are real"
assert abs(found - expected) < 1e-3, message
count = int(np.isnan(gradient).sum())
message = f"the loss is right, but {count} of 12 derivatives are nan"
message += ": the derivative of sqrt at 0 is infinite, and 0 times"
assert count == 0, f"{message} infinity is nan, even where mask is False"
worst = float(np.max(np.abs(gradient - expected_gradient)))
message = f"a derivative is off by {worst:.4f}, expected 0.001 at most"
assert worst < 1e-3, message
print(f"loss {found:.4f}, and 12 derivatives without padding")
