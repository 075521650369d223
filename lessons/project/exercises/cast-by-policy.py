"""Cast a tree of parameters by a precision policy.

Before a matmul, parameters are cast to the dtype of the compute. `cast`
takes a tree and a dtype, and returns the tree with its floating-point
leaves in that dtype. Two kinds of leaves stay as they are: integers, such
as a step counter, and scales of norms, whose name ends in `norm`. The name
of a leaf is the last key on its path.
"""

import jax
import jax.numpy as jnp


def cast(tree, dtype):
    """Return the tree as a matmul takes it."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype), tree)  # fix this


# Judged below: leave this part as it is.

params = {
    "embedding": jnp.ones((4, 2)),
    "blocks": {"query": jnp.ones((2, 2)), "mlp_norm": jnp.ones(2)},
    "final_norm": jnp.ones(2),
    "step": jnp.zeros((), jnp.int32),
    "norm_of_x": jnp.ones(3),
}
expected = {
    "embedding": "bfloat16",
    "blocks": {"query": "bfloat16", "mlp_norm": "float32"},
    "final_norm": "float32",
    "step": "int32",
    "norm_of_x": "bfloat16",
}
found = jax.tree.map(lambda leaf: leaf.dtype.name, cast(params, jnp.bfloat16))
for name, dtype in expected.items():
    message = f"{name}: found {found[name]}, expected {dtype}"
    assert found[name] == dtype, message

half = cast({"w": jnp.ones(2, jnp.bfloat16)}, jnp.float32)
message = f"bfloat16 cast to float32: found {half['w'].dtype}"
assert half["w"].dtype == jnp.float32, message


def loss(params):
    w = cast(params, jnp.bfloat16)["w"]
    return jnp.sum((w @ w).astype(jnp.float32))


gradient = jax.grad(loss)({"w": jnp.ones((2, 2))})["w"]
message = f"the gradient is {gradient.dtype}, expected float32"
assert gradient.dtype == jnp.float32, message
print("cast by policy; gradients are", gradient.dtype)
