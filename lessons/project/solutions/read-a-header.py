"""Go through every number in the file that the program uses. Which of them
does it trust without a check, and what is the worst value of each?

Begin with the length. The offsets count from the end of the header, which
is at 8 + length, so check that the file is that long before you read it.

`end - start` must be the size of the dtype times `math.prod(shape)`, and
the product of no sizes is 1.

Sort the tensors by their start, and remember where the last one ended. If
`start < last or end > len(values)`, raise a `ValueError`; `last` is 0 at
first, so this refuses a negative start as well.

Learned: A format without code is safe only if the reader checks every
number of it before using it.
"""

import json
import math
import struct

SIZES = {"F32": 4, "BF16": 2, "F16": 2, "I8": 1, "I32": 4}


def tensors_of(data):
    """Return dtype, shape and bytes of each tensor."""
    if len(data) < 8:
        raise ValueError("shorter than the length of a header")
    (length,) = struct.unpack("<Q", data[:8])
    if 8 + length > len(data):
        raise ValueError("shorter than its header")
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    values = data[8 + length :]
    tensors, last = {}, 0
    ordered = sorted(header.items(), key=lambda one: one[1]["data_offsets"])
    for name, row in ordered:
        start, end = row["data_offsets"]
        if start < last or end > len(values):
            raise ValueError(f"{name} overlaps, or is outside the file")
        if end - start != SIZES[row["dtype"]] * math.prod(row["shape"]):
            raise ValueError(f"{name} has another size than its shape")
        tensors[name] = row["dtype"], tuple(row["shape"]), values[start:end]
        last = end
    return tensors
