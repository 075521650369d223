"""Which epoch does a step belong to, and which batch of it is it? `divmod`
answers both.

Shuffle all rows once for each epoch, with a seed made of both numbers:
`np.random.default_rng([seed, epoch]).permutation(row_count)`.

Take the batch of the step first, as if there were one host. A host's part
of it is a slice: `batch[host * part : (host + 1) * part]`.

Learned: If the rows follow from step, seed and host alone, no state of the
loader has to be saved, and a run can continue on another number of hosts.
"""

import numpy as np


def rows_of_step(step, host, hosts, *, row_count, batch_size, seed):
    """Return `int64[batch_size // hosts]`, the rows of a host in a step.

    An epoch has `row_count // batch_size` steps; the rest is left out.
    """
    epoch, position = divmod(step, row_count // batch_size)
    order = np.random.default_rng([seed, epoch]).permutation(row_count)
    batch = order[position * batch_size : (position + 1) * batch_size]
    part = batch_size // hosts
    return batch[host * part : (host + 1) * part]
