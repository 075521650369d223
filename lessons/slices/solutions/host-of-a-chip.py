"""Count in hosts instead of chips first. At which position, in hosts, is a
chip along each axis?

`(x // 2, y // 2, z)` is the host's position in a grid of
`(width // 2, height // 2, depth)` hosts.

The first axis counts fastest, so the number is
`column + columns * (row + rows * layer)`.

For `chips_of`, go through all chips of the topology and keep those whose
`host_of` is the number that you look for.

Learned: The hosts tile the topology with blocks of 2x2x1 chips, so
coordinates tell which chips share a machine.
"""

from itertools import product

HOST = (2, 2, 1)
"""Chips of one host along each axis."""


def host_of(chip, topology):
    """Return the number of the host, such as 1 for (2, 0, 0) in (4, 4, 4)."""
    column, row, layer = (
        position // size for position, size in zip(chip, HOST, strict=True)
    )
    columns = topology[0] // HOST[0]
    rows = topology[1] // HOST[1]
    return column + columns * (row + rows * layer)


def chips_of(host, topology):
    """Return the set of the coordinates of a host's chips."""
    every = product(*(range(size) for size in topology))
    return {chip for chip in every if host_of(chip, topology) == host}
