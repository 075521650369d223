"""The work of a device in every round of endurance, with one kind of work for each unit.

The rule to know: each input is 32 random bits, and results are compared as bits. So every kind of
work turns the bits into its own numbers, and returns numbers of 32 bits.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _matmul_types


def mapped(function, devices):
    """Return a function of arrays sharded over a row of devices; each device works by itself."""
    mesh = Mesh(np.array(devices), ("d",))
    return jax.shard_map(function, mesh=mesh, in_specs=P("d"), out_specs=P("d"), check_vma=False)


def scatter(numbers):
    """Return numbers `uint32` mapped one to one to others that look random."""
    numbers = numbers * jnp.uint32(0x9E3779B1)
    return numbers ^ (numbers >> 15)


def floats(own):
    """Return `own: uint32[n, n]` as float32: any fraction, both signs, exponents -7 to 0."""
    bits = (own & jnp.uint32(0x83FFFFFF)) | jnp.uint32(0x3C000000)
    return jax.lax.bitcast_convert_type(bits, jnp.float32)


def corner(own):
    """Return a quarter of `floats(own)`: `float32[n / 2, n / 2]`."""
    return floats(own)[: own.shape[0] // 2, : own.shape[0] // 2]


def bfloat16(own):
    """Return a product of bfloat16 numbers, `float32[n, n]`: one pass of the matrix unit."""
    x = floats(own).astype(jnp.bfloat16)
    return jnp.matmul(x, x, precision="default", preferred_element_type=jnp.float32)


def float32(own):
    """Return a product in full precision, `float32[n / 2, n / 2]`: several passes."""
    return jnp.matmul(corner(own), corner(own), precision="highest")


def int8(own):
    """Return a product of whole numbers, `int32[n, n]`."""
    x = ((own >> 24).astype(jnp.int32) - 128).astype(jnp.int8)
    return jnp.matmul(x, x, precision="default", preferred_element_type=jnp.int32)


def functions(own):
    """Return functions of each number by the vector unit, `float32[n / 2, n / 2]`."""
    x = corner(own)
    return jnp.exp(-jnp.abs(x)) + jnp.tanh(x) * jax.lax.rsqrt(1 + x * x) + jnp.log1p(jnp.abs(x))


def sums(own):
    """Return the sums of rows and of columns, `float32[2, n]`."""
    x = floats(own)
    return jnp.stack([jnp.sum(x, axis=1), jnp.sum(x, axis=0)])


def order(own):
    """Return `uint32[n / 16, n]` in order along rows, then along columns."""
    return jnp.sort(jnp.sort(own[: own.shape[0] // 16], axis=1), axis=0)


WORK = {
    "bfloat16 products": bfloat16,
    "float32 products": float32,
    "int8 products": int8,
    "exp, tanh, rsqrt and log1p": functions,
    "sums": sums,
    "sorted numbers": order,
}


def done_by(device):
    """Return the names in `WORK` of the kinds of work that a device does without a cast."""
    native = _matmul_types.native(device)
    return [name for name, make in WORK.items() if make is not int8 or "int8" in native]


def one_round(number, bits, names):
    """Return the results of a round as `uint32` arrays, in the order of their names.

    The barrier keeps a compiler from computing a result twice in two ways, to keep and to compare.
    """
    own = jax.lax.dynamic_index_in_dim(bits, number & 1, keepdims=False)
    results = [jax.lax.bitcast_convert_type(WORK[name](own), jnp.uint32) for name in names]
    return jax.lax.optimization_barrier(results)


def different(results, reference, place):
    """Return for each kind the count of numbers that differ from a place of `reference`."""
    expected = [
        jax.lax.dynamic_index_in_dim(array[0], place, keepdims=False) for array in reference
    ]
    pairs = zip(results, expected, strict=True)
    return jnp.stack([jnp.sum(x != y, dtype=jnp.uint32) for x, y in pairs])


def kept(results, last, place):
    """Return `last: uint32[1, 2, ...]` of each kind with the results stored at a place."""
    pairs = zip(results, last, strict=True)
    return [jax.lax.dynamic_update_index_in_dim(array, new[None], place, 1) for new, array in pairs]


def checksum(reference):
    """Return a number that changes with any one of the numbers, and most likely with several."""
    places = jnp.arange(reference.size, dtype=jnp.uint32)
    return jnp.sum(scatter(scatter(reference.reshape(-1)) + places), dtype=jnp.uint32)
