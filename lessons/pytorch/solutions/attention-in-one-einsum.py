"""Give each axis a letter: b for the batch, h for the heads, q and k for the
positions of queries and keys, d for dim.

The scores have one number for each query and each key of the same example
and the same head, so b and h are in both and kept, and d is summed over:
"bhqd,bhkd->bhqk".

In the second product the keys are summed over. Divide the scores by
`queries.shape[-1] ** 0.5`, a Python number that is known while tracing.
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


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
arrays = rng.standard_normal((3, 2, 3, 6, 16)).astype(np.float32)
queries, keys, values = (torch.from_numpy(array).to("xla") for array in arrays)
torch_xla.sync(wait=True)

met.clear_all()
result = attention(queries, keys, values)
torch_xla.sync()
compiled = met.counter_value("UncachedCompile") or 0
found = met.counter_value("CachedCompile") or 0
message = f"the result is on {result.device}, expected an XLA device"
assert result.device.type == "xla", message

q, k, v = arrays.astype(np.float64)
scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / np.sqrt(q.shape[-1])
weights = np.exp(scores - scores.max(-1, keepdims=True))
weights /= weights.sum(-1, keepdims=True)
expected = np.matmul(weights, v)
message = f"the result has shape {tuple(result.shape)}, not {expected.shape}"
assert tuple(result.shape) == expected.shape, message
difference = np.abs(result.cpu().numpy() - expected).max()
message = (
    f"a number differs by {difference:.4f}, expected less than 0.05: check"
    " which letter is summed over, and the square root of dim"
)
assert difference < 0.05, message

message = (
    f"{compiled + found} programs were executed, expected 1: something in"
    " the function brings numbers back to the host"
)
assert compiled + found == 1, message
print("one program, largest difference", f"{difference:.0e}")
