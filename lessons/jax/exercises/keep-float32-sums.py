"""Keep the float32 sums of a product.

`x` and `y` are bfloat16. An MXU multiplies them in one pass and adds the
products in float32, but the result is rounded to bfloat16, because that is
the dtype of the inputs. Return the float32 sums instead. The product itself
must still be one of bfloat16 inputs: if you convert `x` and `y` to float32
first, a TPU has to read twice as many bytes.
"""

import jax
import jax.numpy as jnp
import numpy as np


def product(x, y):
    """Return float32[m, n] from x: bfloat16[m, k] and y: bfloat16[k, n]."""
    return jnp.matmul(x, y).astype(jnp.float32)  # your code here


# Judged below: leave this part as it is.


def inputs_of_products(jaxpr):
    """Return the dtypes of the inputs of every product in a program."""
    dtypes = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            dtypes += [
                variable.aval.dtype.name for variable in equation.invars
            ]
        for value in equation.params.values():
            if hasattr(value, "jaxpr"):
                dtypes += inputs_of_products(value.jaxpr)
    return dtypes


rng = np.random.default_rng(0)
x = jnp.asarray(rng.standard_normal((32, 64)), jnp.bfloat16)
y = jnp.asarray(rng.standard_normal((64, 16)), jnp.bfloat16)
exact = np.asarray(x, np.float64) @ np.asarray(y, np.float64)

found = product(x, y)
message = f"the result is {found.dtype}{list(found.shape)}"
assert found.shape == exact.shape, f"{message}, expected the shape (32, 16)"
assert found.dtype == jnp.float32, f"{message}, expected float32"
error = np.linalg.norm(np.asarray(found) - exact) / np.linalg.norm(exact)
assert error < 1e-5, (
    f"the relative error is {error:.0e}, expected below 1e-05: "
    "was the result rounded to bfloat16 on the way?"
)
dtypes = inputs_of_products(jax.make_jaxpr(product)(x, y).jaxpr)
assert set(dtypes) == {"bfloat16"}, (
    f"the product has inputs of {sorted(set(dtypes))}, expected bfloat16"
)
print(f"float32 sums of bfloat16 inputs, relative error {error:.0e}")
