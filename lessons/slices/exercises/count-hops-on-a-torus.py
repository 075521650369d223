"""Count the hops on a torus.

Write `hops`, which returns how many links a message takes at least from one
chip to another. The topology may have any number of axes, and `wraparound`
says for each of them whether a link joins its last chip with its first.
"""


def hops(start, end, topology, wraparound):
    """Return the least number of links between two chips.

    All arguments are tuples with one entry for each axis, such as
    `hops((0, 0), (3, 15), (8, 16), (False, True))`.
    """
    return abs(start[0] - end[0])  # your code here


# Judged below: leave this part as it is.

CASES = [
    ((0,), (15,), (16,), (False,), 15),
    ((0,), (15,), (16,), (True,), 1),
    ((3,), (12,), (16,), (True,), 7),
    ((0, 0), (3, 3), (4, 4), (False, False), 6),
    ((0, 0), (3, 3), (4, 4), (True, True), 2),
    ((0, 0), (7, 15), (8, 16), (False, True), 8),
    ((7, 15), (0, 0), (8, 16), (False, True), 8),
    ((1, 1), (1, 1), (4, 4), (True, True), 0),
    ((0, 0, 0), (4, 4, 4), (8, 8, 8), (True, True, True), 12),
    ((0, 3, 1), (3, 0, 0), (4, 4, 4), (True, True, True), 3),
]
for start, end, topology, wraparound, expected in CASES:
    found = hops(start, end, topology, wraparound)
    case = f"{start} to {end} in {topology}, wraparound {wraparound}"
    assert found == expected, f"{case}: found {found}, expected {expected}"
print("the shorter way round, on every axis")
