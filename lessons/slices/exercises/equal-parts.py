"""Give each host an equal part of rows that do not come out even.

A JAX array has the same number of rows on every host. 10 rows on 4 hosts
make 3 rows each, and 2 of the 12 are filling, which must count nothing.

Write `part`: it returns `(rows, weights)` for one host of several. `rows`
has the host's rows, filled up with rows of zeros; `weights` has 1 for a
row of the data and 0 for filling. Each row of the data is on exactly one
host, and no host has more rows than needed.
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
    told = f"{count} rows on {hosts} hosts"
    sizes = [len(rows) for rows, _ in parts]
    need = [-(-count // hosts)] * hosts
    assert sizes == need, f"{told}: found {sizes} rows, expected {need}"
    weights = [np.asarray(weight) for _, weight in parts]
    shapes = {weight.shape for weight in weights}
    wanted = {(need[0],)}
    told_shapes = f"{told}: found weights of shape {shapes}"
    assert shapes == wanted, f"{told_shapes}, expected {wanted}"
    every = np.concatenate([rows for rows, _ in parts])
    weight = np.concatenate(weights)
    values = sorted(set(weight.tolist()))
    zero_or_one = set(values) <= {0, 1}
    assert zero_or_one, f"{told}: found weights {values}, expected 0, 1"
    found = sorted(map(tuple, every[weight == 1].tolist()))
    told_rows = f"{told}: found {len(found)} rows with weight 1"
    assert len(found) == count, f"{told_rows}, expected {count}"
    expected = sorted(map(tuple, data.tolist()))
    once = f"{told}: found rows missing or doubled, expected each once"
    assert found == expected, once
    filling = every[weight == 0]
    zeros = not filling.any()
    assert zeros, f"{told}: found filling {filling[0]}, expected zeros"
    mean = (every * weight[:, None]).sum(0) / weight.sum()
    right = np.allclose(mean, data.mean(0), rtol=1e-4)
    assert right, f"{told}: found mean {mean}, expected {data.mean(0)}"
print("equal parts, each row once, the right mean")
