"""Find the host of a chip.

Chips of a v5p slice have three coordinates, and a host has 2x2x1 of them.
Hosts are numbered along the first axis first, then along the second, then
along the third. Write `host_of`, which returns the number of the host that
has a chip, and `chips_of`, which returns the coordinates of all chips of a
host.
"""

HOST = (2, 2, 1)
"""Chips of one host along each axis."""


def host_of(chip, topology):
    """Return the number of the host, such as 1 for (2, 0, 0) in (4, 4, 4)."""
    return chip[0] // HOST[0]  # your code here


def chips_of(host, topology):
    """Return the set of the coordinates of a host's chips."""
    return set()  # your code here


# Judged below: leave this part as it is.

KNOWN = {  # as libtpu numbers them
    (4, 4, 4): {
        (0, 0, 0): 0,
        (1, 1, 0): 0,
        (2, 0, 0): 1,
        (3, 1, 0): 1,
        (0, 2, 0): 2,
        (3, 3, 0): 3,
        (0, 0, 1): 4,
        (3, 3, 3): 15,
    },
    (2, 2, 4): {(0, 0, 0): 0, (1, 1, 1): 1, (0, 1, 3): 3},
    (4, 4, 8): {(2, 3, 5): 23, (3, 3, 7): 31},
    (2, 2, 1): {(1, 1, 0): 0},
}
for topology, chips in KNOWN.items():
    for chip, expected in chips.items():
        found = host_of(chip, topology)
        message = f"chip {chip} in {topology}: found host {found}"
        assert found == expected, f"{message}, expected {expected}"
for topology in KNOWN:
    width, height, depth = topology
    seen = set()
    for host in range(width * height * depth // 4):
        found = set(chips_of(host, topology))
        case = f"host {host} in {topology}"
        message = f"{case}: found {len(found)} chips, expected 4"
        assert len(found) == 4, message
        hosts = sorted({host_of(chip, topology) for chip in found})
        message = f"{case}: its chips are on hosts {hosts} by `host_of`"
        assert hosts == [host], message
        seen |= found
    message = f"{topology}: found {len(seen)} chips on all hosts"
    expected = width * height * depth
    assert len(seen) == expected, f"{message}, expected {expected}"
print("every chip has its host, and every host its four chips")
