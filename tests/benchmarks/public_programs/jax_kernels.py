"""Pallas kernels for TPUs that come with JAX, from its repository."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from checkouts import array, enter, load, put, spread
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

KERNELS = enter("jax-ml/jax") / "jax/experimental/pallas/ops/tpu"


def programs(devices):
    """Yield each kernel, with the shapes of a layer of a model of 8 billion parameters."""
    device = devices[0]
    matmul = load("matmul", KERNELS / "matmul.py").matmul
    square = array((4096, 4096), "bfloat16")
    tiles = partial(matmul, block_shape=(512, 512), block_k=512)
    yield "pallas matmul", tiles, put(device, square, square)

    attention = load("flash_attention", KERNELS / "flash_attention.py").flash_attention
    heads = array((1, 32, 4096, 128), "bfloat16")
    causal = partial(attention, causal=True, sm_scale=128**-0.5)
    yield "flash_attention", causal, put(device, heads, heads, heads)

    def loss(q, k, v):
        return causal(q, k, v).astype(jnp.float32).sum()

    backward = jax.grad(loss, argnums=(0, 1, 2))
    yield "flash_attention gradient", backward, put(device, heads, heads, heads)

    splash = load("splash", KERNELS / "splash_attention/splash_attention_kernel.py")
    masks = splash.mask_lib
    mask = masks.MultiHeadMask([masks.CausalMask((4096, 4096))] * 32)
    kernel = splash.make_splash_mha(mask, head_shards=1, q_seq_shards=1)
    one = array((32, 4096, 128), "bfloat16")
    yield "splash_attention", lambda q, k, v: kernel(q, k, v), put(device, one, one, one)  # noqa: PLW0108  jit needs a function

    gmm = load("gmm", KERNELS / "megablox/gmm.py").gmm
    experts = partial(gmm, preferred_element_type=jnp.bfloat16, tiling=(512, 512, 512))
    arguments = array((8192, 2048), "bfloat16"), array((8, 2048, 4096), "bfloat16")
    yield "megablox gmm", experts, put(device, *arguments, array((8,), "int32"))

    paged = load("paged", KERNELS / "paged_attention/paged_attention_kernel.py").paged_attention
    pages = array((8, 1024, 16, 128), "bfloat16")
    rest = array((32,), "int32"), array((32, 64), "int32")
    one = partial(paged, pages_per_compute_block=8)
    queries = array((32, 32, 128), "bfloat16")
    yield "paged_attention", one, put(device, queries, pages, pages, *rest)

    ragged = load("ragged", KERNELS / "ragged_paged_attention/kernel.py").ragged_paged_attention
    arguments = (
        array((512, 32, 128), "bfloat16"),
        array((1024, 16, 16, 128), "bfloat16"),
        array((32,), "int32"),
        array((32, 64), "int32"),
        array((33,), "int32"),
        array((1,), "int32"),
    )
    one = partial(ragged, num_kv_pages_per_block=8, num_queries_per_block=32)
    yield "ragged_paged_attention", one, put(device, *arguments)

    gather = load("gather", KERNELS / "all_gather.py").all_gather
    mesh = Mesh(np.array(devices), ("x",))
    rows = spread(mesh, P("x"), array((1024 * len(devices), 128)))
    yield "pallas all_gather", partial(gather, mesh=mesh, axis_name="x"), rows
