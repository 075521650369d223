"""Forces along the edges of a graph, three numbers a point: an array 43 times as large as asked.

The sum over a point's edges is that of Gilmer et al. 2017, "Neural Message Passing for Quantum
Chemistry" (https://arxiv.org/abs/1704.01212). A TPU keeps arrays in tiles of 8 by 128 numbers and
fills up what is left of a tile: https://cloud.google.com/tpu/docs/performance-guide, "Padding".

Found: f32[n,3] as an argument costs a third more, not 43 times: the compiler puts the long axis
along the 128. Where rows are added up by index it does not: there f32[edges,3] is laid out row
by row, also when it is given as f32[3,edges]. Three arrays f32[edges] are not padded.
"""

import jax

POINTS, EDGES = 50_000, 1_000_000


def forces(points, senders, receivers):
    """Return the force on each of points: f32[n, 3], from f32[edges, 3]."""
    gap = points[senders] - points[receivers]
    pulls = gap * jax.lax.rsqrt((gap**2).sum(1, keepdims=True) + 1e-6)
    return jax.ops.segment_sum(pulls, receivers, POINTS)


def forces_by_axis(points, senders, receivers):
    """Return the same of points: f32[3, n], from three arrays f32[edges]."""
    gaps = [axis[senders] - axis[receivers] for axis in points]
    scale = jax.lax.rsqrt(sum(gap**2 for gap in gaps) + 1e-6)
    return [jax.ops.segment_sum(gap * scale, receivers, POINTS) for gap in gaps]


def move(points, shift):
    return points + shift


def programs(devices):
    edges = jax.ShapeDtypeStruct((EDGES,), "int32")
    rows = jax.ShapeDtypeStruct((POINTS, 3), "float32")
    columns = jax.ShapeDtypeStruct((3, POINTS), "float32")
    yield "forces, f32[edges,3]", forces, (rows, edges, edges)
    yield "forces, axis by axis", forces_by_axis, (columns, edges, edges)
    many = jax.ShapeDtypeStruct((8_000_000, 3), "float32")
    yield "move f32[n,3]", move, (many, jax.ShapeDtypeStruct((3,), "float32"))
