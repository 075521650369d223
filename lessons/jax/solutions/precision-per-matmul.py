"""Near the solution, `a @ x` and `b` agree in most of their digits. Which
digits remain in their difference?

The residual is a small difference of large numbers, so an error in the
third digit of `a @ x` can be as large as the whole residual. The
correction is small already, and three correct digits of it are enough.

`jnp.matmul` takes `precision="highest"`. Use it in the first product only.

Learned: Only the matmul whose result is a small difference of large numbers
needs `highest` precision; the others can stay at one pass.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal


def refine(a, inverse, b, x):
    """Return a better `x: float32[n, 1]`; `a` has the shape `(n, n)`."""
    residual = b - jnp.matmul(a, x, precision="highest")
    return x + jnp.matmul(inverse, residual)
