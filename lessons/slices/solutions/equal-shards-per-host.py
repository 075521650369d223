"""How many rows must each host have, so that all of them fit? The number is
the same on every host.

`need = -(-len(data) // hosts)` rounds up. Host 0 takes the first `need`
rows, and host 1 takes the next.

`data[host * need : (host + 1) * need]` may be shorter, or empty. Pad it
with `np.pad`, or start from `np.zeros`.

Start with `rows = np.zeros((need, data.shape[1]), data.dtype)` and
`weights = np.zeros(need)`. Then write `mine` into `rows[: len(mine)]`,
and 1 into as many weights.

Learned: Every host must have the same number of rows, so round up, pad the
hosts that have too few, and give the padding the weight 0.
"""

import numpy as np


def part(data, host, hosts):
    """Return `rows: f32[m, k]` and `weights: f32[m]` of one host."""
    need = -(-len(data) // hosts)
    mine = data[host * need : (host + 1) * need]
    rows = np.zeros((need, *data.shape[1:]), data.dtype)
    rows[: len(mine)] = mine
    weights = np.zeros(need, np.float32)
    weights[: len(mine)] = 1
    return rows, weights
