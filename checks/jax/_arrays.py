"""Arrays that show whether a conversion keeps every bit: all types, patterns and kinds of shape.

The rule to know: bits are compared, never values, so `-0.0`, infinities and subnormals count. Only
a NaN may come back as another NaN, because no document promises its payload.
"""

import jax
import jax.numpy as jnp
import numpy as np

CORE = (
    "bool",
    "int8",
    "int16",
    "int32",
    "uint8",
    "uint16",
    "uint32",
    "float16",
    "bfloat16",
    "float32",
)
"""Types that every device of every supported JAX has."""

OPTIONAL = (
    "complex64", "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float8_e3m4", "float8_e4m3",
    "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
"""Types that a JAX or a device may lack: the TPU compiler refuses `int2` arrays of many shapes."""

BITS = {"bool": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4}
"""Number of significant bits, if fewer than NumPy's whole bytes."""

SWAPPED = "big-endian float32"
"""The type of NumPy arrays from some file formats, which JAX refuses."""

REFUSALS = (jax.errors.JaxRuntimeError, NotImplementedError, TypeError, ValueError)
"""Errors with which JAX or a device refuses a type."""

UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}

EDGES = (0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC00001, 1, 0x007FFFFF)
EDGES += (0x80000001, 0x00800000, 0x7F7FFFFF, 0x3F800000, 0x7FFFFFFF, 0xFFFFFFFF)
"""32-bit patterns: zeros, infinities, quiet and signalling NaNs, subnormals, both ends."""


NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
"""The types that replace 64-bit types without x64."""

WRAPS = np.lib.NumpyVersion(np.__version__) < "2.0.0"
"""True if NumPy itself silently wraps a Python number that is too large for its type."""

IN_RANGE = {
    "float64": [0.0, 1 / 3, -1e30, 1e-30],
    "int64": [-(2**31), -1, 0, 2**31 - 1],
    "uint64": [0, 2**31, 2**32 - 1],
    "complex128": [1 / 3 - 2j / 3, 1e-30j],
}
"""Numbers of those types that the narrow type can hold, if rounded."""


def names():
    """Return the names of the types this JAX has, `CORE` first."""
    return [*CORE, *(name for name in OPTIONAL if hasattr(jnp, name)), SWAPPED]


def dtype(name):
    """Return the NumPy dtype of a type name."""
    kinds = {"bool": np.bool_, SWAPPED: ">f4"}
    return np.dtype(kinds[name] if name in kinds else getattr(jnp, name))


def patterns(name):
    """Return every bit pattern of a type of up to 16 bits, else the edges and 4081 random ones."""
    kind = dtype(name)
    size = 4 if name == "complex64" else kind.itemsize
    if size == 4:
        random = np.random.default_rng(0).integers(0, 2**32, 4096 - len(EDGES), np.uint32)
        return np.concatenate([np.array(EDGES, np.uint32), random]).view(kind)
    return np.arange(2 ** BITS.get(name, 8 * size), dtype=UNSIGNED[size]).view(kind)


def ordinary(name):
    """Return 1024 patterns of a type without NaN and subnormals, which arithmetic may not keep."""
    array = patterns(name)
    if array.dtype.kind not in "bui":
        with np.errstate(invalid="ignore"):  # signalling NaNs
            values = np.abs(array.astype(np.float32))
        smallest = float(jnp.finfo(array.dtype).tiny)
        array = array[(values >= smallest) | (values == 0)]
    return array[np.linspace(0, len(array) - 1, 1024).astype(int)]


def bits(array):
    """Return the meaningful bits of each number as unsigned integers."""
    kind = array.real.dtype
    raw = np.ascontiguousarray(array).view(UNSIGNED[kind.itemsize])
    width = BITS.get(kind.name)
    return raw & (2**width - 1) if width else raw


def device_bits(array):
    """Return the bits of each number as the device holds them; traced."""
    if array.dtype == bool:
        return array.astype(jnp.uint8)
    return jax.lax.bitcast_convert_type(array, UNSIGNED[array.dtype.itemsize])


def difference(sent, back):
    """Describe how a returned array differs from the one sent, or return an empty string."""
    sent = sent.astype(sent.dtype.newbyteorder("="), copy=False)
    if (sent.dtype, sent.shape) != (back.dtype, back.shape):
        return f"{back.dtype.name}{list(back.shape)}"
    changed = (bits(sent) != bits(back)) & ~lost_payloads(sent, back)
    return f"{changed.sum()} of {changed.size} numbers changed" if changed.any() else ""


def lost_payloads(sent, back):
    """Return a mask of the NaNs that came back as NaNs with other bits."""
    if sent.dtype.kind == "c":
        sent, back = (array.view(array.real.dtype) for array in (sent, back))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return (bits(sent) != bits(back)) & np.isnan(sent) & np.isnan(back)


def shapes():
    """Return arrays `int32[...]` of every kind of shape and memory order, by name."""
    plane = np.arange(7 * 129, dtype=np.int32).reshape(7, 129)
    return {
        "scalar": np.array(7, np.int32),
        "empty": np.zeros((0, 3), np.int32),
        "not a multiple of a tile": plane,
        "five axes": np.arange(120, dtype=np.int32).reshape(2, 3, 1, 4, 5),
        "Fortran order": np.asfortranarray(plane),
        "transposed": plane.T,
        "every third, backwards": plane[::2, ::-3],
        "broadcast": np.broadcast_to(np.int32(7), (5, 6)),
    }
