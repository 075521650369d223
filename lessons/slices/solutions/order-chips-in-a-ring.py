"""Keep one column free for the way back. How can you visit all other columns
on the way there?

Go through the rows like a snake: to the right in even rows, to the left in
odd ones, but only over the columns from 1 on. Then come back up column 0.

The snake must end in column 1, beside column 0, which it does if the number
of rows is even.

If the height is odd and the width is even, order the chips of the grid
with both swapped, and swap each `(x, y)` of the result.

Learned: On a grid with an even side there is an order in which each message
of a ring takes one hop, and on a grid with odd sides there is none.
"""


def ring(width, height):
    """Return a list of all `(x, y)` of the grid, or None."""
    if height % 2:
        if width % 2:
            return None
        return [(x, y) for y, x in ring(height, width)]
    order = []
    for y in range(height):
        columns = range(1, width)
        if y % 2:
            columns = reversed(columns)
        order += [(x, y) for x in columns]
    return order + [(0, y) for y in reversed(range(height))]
