"""Norms of per-example gradients.

To find the examples with the largest influence, return the norm of the
gradient of `loss` for each example of a batch. The parameters are a
dictionary of two arrays, and the norm goes over all numbers of both. As
it stands, `gradient_norms` returns one norm, that of the mean loss. Write
it without a Python loop: `loss` may be traced three times at most.
"""

import jax
import jax.numpy as jnp
import numpy as np

traced = []


def loss(params, x, y):
    """Return the squared error of one example, x: float32[4] and y: []."""
    traced.append(x.shape)
    hidden = jnp.tanh(x @ params["weights"] + params["bias"])
    return (hidden.sum() - y) ** 2


def gradient_norms(params, inputs, labels):
    """Return float32[n] for inputs: float32[n, 4], labels: float32[n]."""
    # your code here: replace the lines below

    def mean_loss(params):
        pairs = zip(inputs, labels, strict=True)
        total = sum(loss(params, x, y) for x, y in pairs)
        return total / len(inputs)

    gradient = jax.grad(mean_loss)(params)
    squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)]
    return jnp.sqrt(sum(squares))


# Judged below: leave this part as it is.

traced.clear()
rng = np.random.default_rng(0)
params = {
    "weights": rng.standard_normal((4, 3)).astype(np.float32),
    "bias": rng.standard_normal(3).astype(np.float32),
}
inputs = rng.standard_normal((50, 4)).astype(np.float32)
labels = rng.standard_normal(50).astype(np.float32)
hidden = np.tanh(inputs @ params["weights"] + params["bias"])
outer = 2 * (hidden.sum(axis=1) - labels)[:, None] * (1 - hidden**2)
of_bias = (outer**2).sum(axis=1)
of_weights = of_bias * (inputs**2).sum(axis=1)
expected = np.sqrt(of_bias + of_weights)

with jax.default_matmul_precision("float32"):
    found = gradient_norms(params, inputs, labels)
shape = np.shape(found)
message = f"found an array of shape {shape}, expected (50,)"
if shape == ():
    message += ": one norm for the whole batch, not one per example"
assert shape == (50,), message
message = f"loss was traced {len(traced)} times, expected 3 at most"
assert len(traced) <= 3, f"{message}: there is still a Python loop"
found = np.asarray(found)
close = np.allclose(found, expected, rtol=1e-2, atol=1e-3)
message = f"norm 0 is {found[0]:.4f}, expected {expected[0]:.4f}"
if np.allclose(found, np.sqrt(of_weights), rtol=1e-2, atol=1e-3):
    message += ": you left out the bias"
if np.allclose(found, np.sqrt(of_weights) + np.sqrt(of_bias), rtol=1e-2):
    message += ": add the squares of both arrays, then take the root"
if np.allclose(found, expected**2, rtol=1e-2, atol=1e-3):
    message += ": this is its square"
assert close, message
print(f"50 norms; traces of loss: {len(traced)}")
