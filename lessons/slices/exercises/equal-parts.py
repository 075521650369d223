"""Give each host an equal part of rows that do not come out even.

A JAX array has the same number of rows on every host. 10 rows on 4 hosts make 3 rows each, and 2 of
the 12 are filling, which must count nothing.

Write `part`: it returns `(rows, weights)` for one host of several. `rows` has the host's rows,
filled up with rows of zeros; `weights` has 1 for a row of the data and 0 for filling. Each row of
the data is on exactly one host, and no host has more rows than needed.
"""

import numpy as np


def part(data, host, hosts):
    """Return `rows: float32[m, k]` and `weights: float32[m]` of one host."""
    rows = np.array_split(data, hosts)[host]  # your code here
    return rows, np.ones(len(rows), np.float32)


# Judged below: leave this part as it is.

for count, hosts in [(8, 4), (10, 4), (3, 4), (7, 2), (5, 1), (9, 8)]:
    data = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32) + 5
    parts = [part(data, host, hosts) for host in range(hosts)]
    told = f"{count} rows on {hosts} hosts"
    sizes = [len(rows) for rows, _ in parts]
    need = -(-count // hosts)
    assert sizes == [need] * hosts, f"{told}: found {sizes} rows, expected {[need] * hosts}"
    weights = [np.asarray(weight) for _, weight in parts]
    shapes = [weight.shape for weight in weights]
    assert shapes == [(need,)] * hosts, f"{told}: found weights of shape {shapes}"
    every, weight = np.concatenate([rows for rows, _ in parts]), np.concatenate(weights)
    assert set(weight.tolist()) <= {0, 1}, f"{told}: found weights {weight}, expected 0 and 1"
    found = sorted(map(tuple, every[weight == 1].tolist()))
    assert len(found) == count, f"{told}: found {len(found)} rows with weight 1, expected {count}"
    expected = sorted(map(tuple, data.tolist()))
    assert found == expected, f"{told}: not each row of the data is there exactly once"
    filling = np.abs(every[weight == 0]).sum()
    assert filling == 0, f"{told}: found filling that is not zero"
    mean = (every * weight[:, None]).sum(0) / weight.sum()
    assert np.allclose(mean, data.mean(0), rtol=1e-4), f"{told}: found mean {mean}"
print("equal parts, each row once, the right mean")
