"""Attention in one einsum.

This program came from NumPy. It computes attention scores and their
weighted values in a loop over examples and heads, and copies arrays to the
host in every pass. Replace the loops by one `torch.einsum` for the scores and
one for the values, so that the whole function executes one program on the
device.
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
    rows = []
    for b in range(queries.shape[0]):  # your code instead
        for h in range(queries.shape[1]):
            scores = np.dot(queries[b, h].cpu(), keys[b, h].cpu().T)
            scores = torch.softmax(torch.tensor(scores) / 4.0, dim=-1)
            rows.append(np.dot(scores, values[b, h].cpu()))
    result = np.stack(rows).reshape(queries.shape)
    return torch.from_numpy(result).to("xla")


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
