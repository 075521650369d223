"""At tick t, stage 0 begins microbatch t. Which one did stage s receive?

The backward passes are the forward passes in reverse order, read from the
end. What is the last row of the forward part for the microbatch that comes
last?

Make the forward rows first. Then append them from the last to the first,
with F replaced by B in every entry.

Learned: The backward pass of a pipeline is its forward pass in reverse, so
each stage idles S - 1 ticks in both directions.
"""


def schedule(stages, microbatches):
    """Return the work of each stage at each tick."""
    ticks = microbatches + stages - 1
    rows = []
    for now in range(ticks):
        row = []
        for stage in range(stages):
            number = now - stage
            works = 0 <= number < microbatches
            row.append(f"F{number}" if works else "--")
        rows.append(row)
    back = [[work.replace("F", "B") for work in row] for row in rows[::-1]]
    return rows + back
