"""How many tiles does an axis of 129 columns need, if a tile has 128?

Round each of the last two sizes up to a multiple of the tile:
`math.ceil(size / tile_size) * tile_size`.

`*leading, rows, columns = shape` splits the shape. The product of the leading
axes is `math.prod(leading)`, which is 1 where there are none.

Learned: Only the last two axes are padded, each to a multiple of its tile, so
a last axis of 3 takes as much memory as one of 128.
"""

import math


def bytes_in_tiles(shape, tile, item_bytes):
    """Return how many bytes an array of this shape takes, with padding."""
    *leading, rows, columns = shape
    tile_rows, tile_columns = tile
    padded_rows = math.ceil(rows / tile_rows) * tile_rows
    padded_columns = math.ceil(columns / tile_columns) * tile_columns
    return math.prod(leading) * padded_rows * padded_columns * item_bytes
