"""Give every host an equal number of rows.

A sharded JAX array has the same number of rows on every host. 10 rows on
4 hosts need 3 rows each, so 2 of the 12 rows are padding, and padding must
not change the result.

Write `part`, which returns `(rows, weights)` for one host of several.
`rows` holds the host's rows, padded with zeros. `weights` is 1 for a row of
data and 0 for padding. Each row of the data is on exactly one host, and no
host has more rows than needed.
"""

import numpy as np


def part(data, host, hosts):
    """Return `rows: f32[m, k]` and `weights: f32[m]` of one host."""
    rows = np.array_split(data, hosts)[host]  # your code here
    return rows, np.ones(len(rows), np.float32)


# Judged below: leave this part as it is.

CASES = [(8, 4), (10, 4), (3, 4), (7, 2), (5, 1), (9, 8)]
for count, hosts in CASES:
    data = np.random.default_rng(count).normal(5, 1, (count, 3))
    data = data.astype(np.float32)
    parts = [part(data, host, hosts) for host in range(hosts)]
    case = f"{count} rows on {hosts} hosts"
    sizes = [len(rows) for rows, _ in parts]
    need = [-(-count // hosts)] * hosts
    assert sizes == need, f"{case}: found {sizes} rows, expected {need}"
    weights = [np.asarray(weight) for _, weight in parts]
    shapes = {weight.shape for weight in weights}
    expected = {(need[0],)}
    message = f"{case}: found weights of shape {shapes}"
    assert shapes == expected, f"{message}, expected {expected}"
    every = np.concatenate([rows for rows, _ in parts])
    weight = np.concatenate(weights)
    values = sorted(set(weight.tolist()))
    message = f"{case}: found weights {values}, expected 0 and 1"
    assert set(values) <= {0, 1}, message
    found = sorted(map(tuple, every[weight == 1].tolist()))
    message = f"{case}: found {len(found)} rows with weight 1"
    assert len(found) == count, f"{message}, expected {count}"
    expected = sorted(map(tuple, data.tolist()))
    message = f"{case}: some rows are missing or duplicated"
    assert found == expected, f"{message}, expected each row once"
    padding = every[weight == 0]
    message = f"{case}: found padding {padding[:1]}, expected zeros"
    assert not padding.any(), message
    mean = (every * weight[:, None]).sum(0) / weight.sum()
    message = f"{case}: found mean {mean}, expected {data.mean(0)}"
    assert np.allclose(mean, data.mean(0), rtol=1e-4), message
print("equal shards, each row once, the correct mean")
