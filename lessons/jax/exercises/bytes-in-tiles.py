"""Count the bytes that an array takes in tiles.

A TPU stores the last two axes of an array in tiles. `tile` is the number of
rows and columns of a tile, such as (8, 128) for float32, and `item_bytes` is
the size of an element. An axis that is no multiple of its tile is padded to
the next one. The axes before the last two are not padded. `shape` has at
least two axes.
"""

import math


def bytes_in_tiles(shape, tile, item_bytes):
    """Return how many bytes an array of this shape takes, with padding."""
    return math.prod(shape) * item_bytes  # your code here


# Judged below: leave this part as it is.

FLOAT32 = ((8, 128), 4)
BFLOAT16 = ((16, 128), 2)
cases = [
    ((8, 128), FLOAT32, 4096),
    ((16, 256), FLOAT32, 16384),
    ((1, 128), FLOAT32, 4096),
    ((8, 1), FLOAT32, 4096),
    ((9, 129), FLOAT32, 16384),
    ((1_000_000, 3), FLOAT32, 512_000_000),
    ((3, 1_000_000), ((4, 128), 4), 16_001_024),
    ((32, 12, 50, 50), FLOAT32, 11_010_048),
    ((1000, 1000), BFLOAT16, 2_064_384),
]
for shape, (tile, item_bytes), expected in cases:
    found = bytes_in_tiles(shape, tile, item_bytes)
    message = f"{shape} in tiles of {tile}, {item_bytes} bytes an element"
    assert found == expected, f"{message}: found {found}, expected {expected}"
factor = 512_000_000 / (3_000_000 * 4)
print(f"{len(cases)} shapes, of which one takes {factor:.0f} times its size")
