"""A link changes one coordinate. What does that say about the hops along
several axes?

The hops of all axes add up. Loop over the axes with `zip`, and take the
distance along each.

On an axis with a wraparound link there are two ways, `direct` and
`size - direct`. Take the shorter one.

Learned: The hops of a message are the sum of its distances along the axes,
and a wraparound link makes the longest distance half as long.
"""


def hops(start, end, topology, wraparound):
    """Return the least number of links between two chips.

    All arguments are tuples with one entry for each axis, such as
    `hops((0, 0), (3, 15), (8, 16), (False, True))`.
    """
    total = 0
    axes = zip(start, end, topology, wraparound, strict=True)
    for first, last, size, is_ring in axes:
        direct = abs(last - first)
        total += min(direct, size - direct) if is_ring else direct
    return total
