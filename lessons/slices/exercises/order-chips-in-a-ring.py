"""Order the chips in a ring.

A `ppermute` is as slow as its longest message. Write `ring`, which orders
the chips of a grid without wraparound links, so that each chip is one hop
from the next one, and the last chip is one hop from the first. Width and
height are 2 or more. Where both are odd no such ring exists, so return
None.
"""


def ring(width, height):
    """Return a list of all `(x, y)` of the grid, or None."""
    order = []
    for y in range(height):
        order += [(x, y) for x in range(width)]  # your code here
    return order


# Judged below: leave this part as it is.


def judge(width, height):
    found = ring(width, height)
    grid = f"{width} x {height}"
    if width % 2 and height % 2:
        message = f"{grid}: found a list, expected None: no ring exists"
        assert found is None, message
        return
    assert found is not None, f"{grid}: found None, expected a ring"
    chips = {(x, y) for x in range(width) for y in range(height)}
    missing = len(chips - set(found))
    message = f"{grid}: {missing} chips are missing, expected none"
    assert not missing, message
    message = f"{grid}: found {len(found)} chips, expected {len(chips)}"
    assert len(found) == len(chips), message
    for chip, following in zip(found, [*found[1:], found[0]], strict=True):
        far = abs(chip[0] - following[0]) + abs(chip[1] - following[1])
        message = f"{grid}: {far} hops from {chip} to {following}"
        assert far == 1, f"{message}, expected 1"


for size in [(2, 2), (2, 4), (4, 2), (4, 4), (8, 16)]:
    judge(*size)
for size in [(3, 2), (3, 4), (5, 6)]:
    judge(*size)
for size in [(2, 3), (4, 3), (6, 5)]:
    judge(*size)
judge(3, 5)
print("every message takes one hop")
