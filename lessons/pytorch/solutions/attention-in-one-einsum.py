"""Give each axis a letter: b for the batch, h for the heads, q and k for the
positions of queries and keys, d for dim.

The scores have one number for each query and each key of the same example
and the same head, so b and h are in both and kept, and d is summed over:
"bhqd,bhkd->bhqk".

In the second product the keys are summed over. Divide the scores by
`queries.shape[-1] ** 0.5`, a Python number that is known while tracing.

Learned: An einsum replaces the loops over examples and heads, so the device
executes one program and nothing is copied to the host in between.
"""

import numpy as np
import torch
import torch_xla
import torch_xla.debug.metrics as met


def attention(queries, keys, values):
    """Return `float32[batch, heads, query, dim]` on the device.

    All three are `float32[batch, heads, position, dim]`. The scores are
    divided by the square root of dim, then softmax runs over the keys.
    """
    scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys)
    weights = torch.softmax(scores / queries.shape[-1] ** 0.5, dim=-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, values)
