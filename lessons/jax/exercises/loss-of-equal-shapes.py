"""Make a loss refuse unequal shapes.

A model returns predictions of shape (n, 1), and the targets have shape (n,).
Their difference broadcasts to (n, n), so the loss is wrong and nothing fails.
Make `mean_squared_error` raise ValueError if the two shapes differ, and mend
`loss`, which calls it, so that it compares each prediction with its own
target.
"""

import jax
import jax.numpy as jnp
import numpy as np


def mean_squared_error(predictions, targets):
    """Return float32[], or raise ValueError for unequal shapes."""
    return jnp.mean((predictions - targets) ** 2)  # your code here


def loss(weights, inputs, targets):
    """Return the loss of weights: [k, 1], inputs: [n, k], targets: [n]."""
    predictions = inputs @ weights
    return mean_squared_error(predictions, targets)  # and here


# Judged below: leave this part as it is.


def outcome(function, *arguments):
    """Return the number, or the name of the error."""
    try:
        return round(float(function(*arguments)), 3)
    except (ValueError, TypeError) as error:
        return type(error).__name__


inputs = jnp.array([[0.0, 1.0], [2.0, 3.0], [5.0, 3.0]])
weights = jnp.array([[1.0], [-1.0]])
targets = jnp.array([-1.0, -1.0, 5.0])
found = outcome(jax.jit(loss), weights, inputs, targets)
message = f"the loss of errors 0, 0 and 3 is {found}, expected 3.0"
assert found == 3.0, message

for shapes in (((3, 1), (3,)), ((3,), (1,)), ((2, 3), (3,))):
    found = outcome(mean_squared_error, *map(jnp.ones, shapes))
    message = f"shapes {shapes} gave {found}, expected ValueError"
    assert found == "ValueError", message

found = outcome(mean_squared_error, jnp.ones((2, 3)), jnp.zeros((2, 3)))
assert found == 1.0, f"equal shapes gave {found}, expected 1.0"
print("each prediction with its own target, and no silent broadcast")
