"""Add up the rows of a large array, block by block.

`sum_rows` gets float32[rows, columns] and returns float32[1, columns], the
sum of all rows. Every step of the grid sees one block of the input, and
all steps see the same block of the output, which stays in VMEM until the
last of them. So a step has to add to what the earlier steps have left
there, and the first step has to begin with zeros. `pl.program_id(0)` is the
number of the step, and `@pl.when(condition)` above a function without
arguments runs it only if the condition holds.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

BLOCK_ROWS = 8


def sum_kernel(x_ref, out_ref):
    """Add the rows of a block to the sum."""
    out_ref[...] = jnp.sum(x_ref[...], axis=0, keepdims=True)  # your code here


def sum_rows(x):
    rows, columns = x.shape
    call = pl.pallas_call(
        sum_kernel,
        out_shape=jax.ShapeDtypeStruct((1, columns), x.dtype),
        grid=(rows // BLOCK_ROWS,),
        in_specs=[pl.BlockSpec((BLOCK_ROWS, columns), lambda step: (step, 0))],
        out_specs=pl.BlockSpec((1, columns), lambda step: (0, 0)),
        interpret=jax.default_backend() != "tpu",
    )
    return call(x)


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
x = rng.integers(-9, 10, size=(40, 128)).astype(np.float32)
found = np.asarray(sum_rows(jnp.asarray(x)))
message = f"found the shape {found.shape}, expected (1, 128)"
assert found.shape == (1, 128), message
last_block = x[-BLOCK_ROWS:].sum(axis=0)
message = "this is the sum of the last block: the steps replace each other"
assert not np.array_equal(found[0], last_block), message
message = "the sum is nan: the first step must begin with zeros"
assert not np.isnan(found).any(), message
expected = x.sum(axis=0)
wrong = int((found[0] != expected).sum())
assert wrong == 0, f"{wrong} of 128 sums are wrong"
again = np.asarray(sum_rows(jnp.asarray(x[:8])))
message = "with a single step the sum is wrong"
assert np.array_equal(again[0], x[:8].sum(axis=0)), message
print("five steps, one block of the output, one sum")
