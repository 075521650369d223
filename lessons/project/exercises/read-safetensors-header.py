"""Read a safetensors file without the library.

A file begins with 8 bytes, which are the length of the header as a little
endian integer. The header is JSON, and the bytes of the arrays follow it.
`data_offsets` count from the end of the header. Complete `read_array`, which
gets the bytes of a file and a name, and returns that array alone. The dtypes
are F32 and I32.
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
    return np.frombuffer(data, DTYPES[entry["dtype"]])  # your code here


# Judged below: leave this part as it is.


def made(arrays):
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        kind = "F32" if array.dtype == np.float32 else "I32"
        offsets = [len(body), len(body) + array.nbytes]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
        body += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


rng = np.random.default_rng(0)
arrays = {
    "first": rng.normal(size=(2, 3)).astype(np.float32),
    "ids": np.arange(5, dtype=np.int32),
    "last": rng.normal(size=(4, 2, 2)).astype(np.float32),
}
data = made(arrays)
for name, expected in arrays.items():
    found = read_array(data, name)
    message = f"{name}: found the shape {found.shape}, not {expected.shape}"
    assert found.shape == expected.shape, message
    message = f"{name}: found {found.dtype}, expected {expected.dtype}"
    assert found.dtype == expected.dtype, message
    message = f"{name}: right shape, and the numbers of something else"
    assert np.array_equal(found, expected), message
print("eight bytes, some JSON, and the rest is numbers")
