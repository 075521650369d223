"""Let attention look back only so far.

Models for long texts, such as Gemma and Mistral, have layers in which each
position sees only the last `window` positions, itself included. The scores
outside the window need not be computed, and the KV cache of such a layer
never grows beyond it. Write `visible(length, window)`, which returns
bool[length, length]: whether the query of each row may use the key of each
column. A window of 1 means that a position sees itself alone.
"""

import jax.numpy as jnp
import numpy as np


def visible(length, window):
    """Return which keys (columns) each query (row) may use."""
    query = jnp.arange(length)[:, None]
    key = jnp.arange(length)[None, :]
    return key <= query  # your code here


# Judged below: leave this part as it is.


def picture(mask):
    return "/".join("".join("#" if x else "." for x in row) for row in mask)


for length, window in [(4, 1), (5, 2), (6, 4), (4, 9)]:
    found = np.asarray(visible(length, window))
    rows = [
        [query - window < key <= query for key in range(length)]
        for query in range(length)
    ]
    message = f"length {length}, window {window}: found {picture(found)}, "
    assert np.array_equal(found, rows), f"{message}expected {picture(rows)}"

# With a window of 2, how far does information travel in 3 layers?
reach = np.eye(8, dtype=bool)
for _ in range(3):
    reach = np.asarray(visible(8, 2)) @ reach
print("in 3 layers, position 7 hears from", np.where(reach[7])[0].tolist())
