"""Work out the size of one rank's part first, `batch // world`, and the
number of whole global batches, `rows // batch`.

Global batch `step` begins at row `step * batch`. The part of a rank begins
`rank * per_rank` rows later.

A mean of means is wrong where the counts differ. Divide the sum of the sums
by the sum of the counts.

Learned: Every rank makes the same number of steps with the same number of
rows, and a global mean divides the sum of sums by the sum of counts.
"""


def rows_of(rank, world, rows, batch):
    """Return the row numbers of each step that belong to this rank."""
    per_rank = batch // world
    steps = []
    for step in range(rows // batch):
        start = step * batch + rank * per_rank
        steps.append(list(range(start, start + per_rank)))
    return steps


def global_mean(sums, counts):
    """Return the mean over all examples of all ranks."""
    return sum(sums) / sum(counts)
