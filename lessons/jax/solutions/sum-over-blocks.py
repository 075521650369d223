"""What is in `out_ref` when the second step begins? And what is in it when
the first one does?

After the zeros, every step does the same: `out_ref[...] += ...`.

`@pl.when(pl.program_id(0) == 0)` above `def start():` runs the body in the
first step alone. Write the zeros there.

Learned: A block of the output that several steps share stays in VMEM, so a
reduction begins with zeros in its first step and adds in every one.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

BLOCK_ROWS = 8


def sum_kernel(x_ref, out_ref):
    """Add the rows of a block to the sum."""

    @pl.when(pl.program_id(0) == 0)
    def start():
        out_ref[...] = jnp.zeros_like(out_ref)

    out_ref[...] += jnp.sum(x_ref[...], axis=0, keepdims=True)


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
