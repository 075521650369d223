"""Which part of `data` belongs to this array? Where does the first array of
the file begin?

Cut out the bytes first: they begin at `8 + length` plus the first of the two
offsets, and end at `8 + length` plus the second one.

`np.frombuffer` of these bytes has one axis. `entry["shape"]` says which
axes the array has.

Learned: A safetensors file is a length, a header in JSON and the bytes of the
arrays, so one array can be read without the others.
"""

import json
import struct

import numpy as np

DTYPES = {"F32": np.float32, "I32": np.int32}


def read_array(data, name):
    """Return one array of a file."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    entry = header[name]
    first, last = (8 + length + offset for offset in entry["data_offsets"])
    values = np.frombuffer(data[first:last], DTYPES[entry["dtype"]])
    return values.reshape(entry["shape"])
