"""Scale gradients down together when they are too large.

`clip` gets a pytree of gradients and a limit. Its global norm is the root
of the sum of the squares of all numbers in all arrays. If the norm is above
the limit, every array is multiplied by limit / norm, so that the direction
stays and the norm becomes the limit. Otherwise the gradients are returned
unchanged. It must work under `jax.jit`, so do not use `if` on the norm.
"""

import jax
import jax.numpy as jnp
import numpy as np


def clip(grads, limit):
    """Return gradients whose global norm is at most `limit`."""
    return jax.tree.map(
        lambda g: jnp.clip(g, -limit, limit), grads
    )  # your code here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
grads = {
    "down": rng.normal(size=(3, 4)).astype(np.float32),
    "norms": [np.float32([0.5, -2.0]), np.zeros(3, np.float32)],
}
flat = np.concatenate([leaf.ravel() for leaf in jax.tree.leaves(grads)])
norm = float(np.linalg.norm(flat))
for limit in [0.1, 1.0, norm + 1]:
    found = jax.jit(clip)(grads, limit)
    shapes = [leaf.shape for leaf in jax.tree.leaves(found)]
    expected_shapes = [leaf.shape for leaf in jax.tree.leaves(grads)]
    assert shapes == expected_shapes, f"the shapes are now {shapes}"
    leaves = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(found)]
    after = np.concatenate(leaves)
    expected = flat * min(1.0, limit / norm)
    found_norm = float(np.linalg.norm(after))
    message = (
        f"norm {norm:.2f}, limit {limit:.2f}: the norm is now "
        f"{found_norm:.2f}, expected {np.linalg.norm(expected):.2f}"
    )
    assert abs(found_norm - min(limit, norm)) < 1e-3, message
    message = f"limit {limit:.2f}: the gradients point elsewhere now"
    assert np.allclose(after, expected, atol=1e-4), message

zeros = jax.jit(clip)({"w": jnp.zeros(3)}, 1.0)["w"]
message = f"gradients of zero became {zeros}"
assert np.array_equal(zeros, np.zeros(3)), message
print(f"a norm of {norm:.2f} becomes 1, and the direction stays")
