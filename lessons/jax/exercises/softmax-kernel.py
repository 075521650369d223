"""Write softmax as a Pallas kernel.

`softmax` gets float32[rows, columns] and returns the softmax of each row.
The kernel works on blocks of 8 rows, and every step of the grid needs
another block. Two things are missing: what the kernel computes, and which
block belongs to a step. Subtract the largest number of each row before
`jnp.exp`, so that large inputs do not overflow.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

BLOCK_ROWS = 8


def softmax_kernel(x_ref, out_ref):
    """Write the softmax of each row of a block."""
    out_ref[...] = x_ref[...]  # your code here


def softmax(x):
    rows, columns = x.shape
    block = pl.BlockSpec((BLOCK_ROWS, columns), lambda step: (0, 0))  # here
    call = pl.pallas_call(
        softmax_kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(rows // BLOCK_ROWS,),
        in_specs=[block],
        out_specs=block,
        interpret=jax.default_backend() != "tpu",
    )
    return call(x)


# Judged below: leave this part as it is.

text = str(jax.make_jaxpr(softmax)(jnp.zeros((8, 4))))
assert "pallas_call" in text, "softmax must be computed by the kernel"
rng = np.random.default_rng(0)
x = rng.normal(size=(32, 128)).astype(np.float32)
x[5] += 200  # exp of it overflows
shifted = x - x.max(axis=-1, keepdims=True)
expected = np.exp(shifted) / np.exp(shifted).sum(axis=-1, keepdims=True)
found = np.asarray(softmax(jnp.asarray(x)))
message = "rows 8 to 31 were not written: every step needs its own block"
assert np.all(np.isfinite(found[8:])) and np.any(found[8:] != 0), message
message = "row 5 is not finite: subtract the largest number of the row"
assert np.all(np.isfinite(found[5])), message
sums = found.sum(axis=-1)
message = f"a row adds up to {sums[0]:.3f}, expected 1"
assert np.allclose(sums, 1, atol=1e-3), message
error = abs(found - expected).max()
assert error < 1e-4, f"the largest error is {error:.2g}"
print("four blocks, and each row adds up to 1")
