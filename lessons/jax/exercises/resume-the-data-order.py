"""Resume the order of the data.

Write `rows_of_step`, which returns the row numbers that one host reads in
one step. It must depend on its arguments alone, so that a restarted run
reads the same rows as the first one. In each epoch no row is read twice,
each epoch has an order of its own, and all hosts read the same number of
rows. The rows of host 0, 1, 2 and so on, in this order, are the batch, and
the batch must be the same however many hosts there are.
"""

import numpy as np


def rows_of_step(step, host, hosts, *, row_count, batch_size, seed):
    """Return `int64[batch_size // hosts]`, the rows of a host in a step.

    An epoch has `row_count // batch_size` steps; the rest is left out.
    """
    rng = np.random.default_rng(seed)  # your code here
    return rng.integers(0, row_count, batch_size)


# Judged below: leave this part as it is.

ROWS, BATCH = 103, 24
STEPS = ROWS // BATCH


def batch_of(step, hosts, seed=5):
    data = {"row_count": ROWS, "batch_size": BATCH, "seed": seed}
    parts = []
    for host in range(hosts):
        part = rows_of_step(step, host, hosts, **data)
        need = (BATCH // hosts,)
        case = f"step {step}, host {host} of {hosts}"
        message = f"{case}: found {np.shape(part)}, expected {need} rows"
        assert np.shape(part) == need, message
        parts.append(np.asarray(part))
    return np.concatenate(parts)


for hosts in (1, 2, 4):
    for epoch in range(3):
        steps = range(epoch * STEPS, (epoch + 1) * STEPS)
        read = np.concatenate([batch_of(step, hosts) for step in steps])
        twice = len(read) - len(np.unique(read))
        message = f"epoch {epoch} with {hosts} hosts: {twice} rows are read"
        assert not twice, f"{message} twice, expected none"
        inside = read.min() >= 0 and read.max() < ROWS
        message = f"found rows {read.min()} to {read.max()}"
        assert inside, f"{message}, expected 0 to {ROWS - 1}"
epochs = [
    np.concatenate([batch_of(epoch * STEPS + i, 1) for i in range(STEPS)])
    for epoch in range(3)
]
for first, second in ((0, 1), (1, 2), (0, 2)):
    equal = np.array_equal(epochs[first], epochs[second])
    message = f"epochs {first} and {second} have the same order"
    assert not equal, f"{message}, expected different ones"
left_out = [frozenset(range(ROWS)) - set(epoch.tolist()) for epoch in epochs]
message = f"every epoch leaves out {sorted(left_out[0])}"
assert len(set(left_out)) > 1, f"{message}, expected other rows each time"
sorted_rows = np.array_equal(np.sort(epochs[0][:BATCH]), epochs[0][:BATCH])
assert not sorted_rows, "the rows of a batch are sorted, expected a shuffle"
for step in (0, 3, 4, 11):
    whole = batch_of(step, 1)
    for hosts in (2, 3, 8):
        found = batch_of(step, hosts)
        equal = np.array_equal(found, whole)
        message = f"step {step}: {hosts} hosts read another batch than one"
        assert equal, f"{message}, expected the same rows in the same order"
again = batch_of(7, 2)
batch_of(0, 2)
equal = np.array_equal(again, batch_of(7, 2))
assert equal, "step 7 after step 0 gives other rows, expected the same"
other = np.array_equal(batch_of(7, 2), batch_of(7, 2, seed=6))
assert not other, "two seeds give the same rows, expected different ones"
print("the same rows after a restart, on any number of hosts")
