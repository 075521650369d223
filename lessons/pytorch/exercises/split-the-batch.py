"""Split the batch over ranks.

Every rank reads the same file and keeps its own rows. The data has 103 rows,
the global batch 16, and there are 4 ranks. Write two functions:

* `rows_of(rank, world, rows, batch)` returns a list with the row numbers of
  each step for this rank, such as `[[0, 1, 2, 3], [16, 17, 18, 19], ...]`.
  Every rank must make the same number of steps with the same number of rows,
  or the last step hangs. Leave out the rows at the end that do not fill a
  global batch.
* `global_mean(sums, counts)` returns the mean over all ranks, from the sum
  and the number of examples of each rank. The counts may differ.
"""


def rows_of(rank, world, rows, batch):
    """Return the row numbers of each step that belong to this rank."""
    return [list(range(rows))]  # your code here


def global_mean(sums, counts):
    """Return the mean over all examples of all ranks."""
    means = [total / count for total, count in zip(sums, counts, strict=True)]
    return sum(means) / len(means)  # your code here


# Judged below: leave this part as it is.

WORLD = 4
ROWS = 103
BATCH = 16
ranks = [rows_of(rank, WORLD, ROWS, BATCH) for rank in range(WORLD)]

steps = [len(rank) for rank in ranks]
message = (
    f"the ranks take {steps} steps, expected 6 each: 103 rows fill 6 global"
    " batches of 16, and a rank with more steps would wait for ever"
)
assert steps == [6] * WORLD, message
sizes = sorted({len(step) for rank in ranks for step in rank})
message = f"a step of one rank has {sizes} rows, expected always 4"
assert sizes == [4], message
first = [row for rank in ranks for row in rank[0]]
message = f"in step 0 the ranks read rows {first}, expected 0 to 15"
assert sorted(first) == list(range(BATCH)), message
every = [row for rank in ranks for step in rank for row in step]
message = (
    f"{len(set(every))} different rows are read in {len(every)} places,"
    " expected the rows 0 to 95, each once"
)
assert sorted(every) == list(range(96)), message
two = [row for step in rows_of(0, 2, 8, 4) for row in step]
message = f"rank 0 of 2 reads {two} of 8 rows, expected four of them"
assert len(two) == 4, message

found = global_mean([8.0, 3.0], [4, 1])
message = (
    f"sums 8 and 3 of 4 and 1 examples give the mean {found}, expected 2.2:"
    " add sums and counts over the ranks first, then divide once"
)
assert abs(found - 2.2) < 1e-9, message
print("steps:", steps[0], "rows in a step of one rank:", sizes[0])
