"""Kernels of public serving and language-model repositories, beside those of JAX."""

from __future__ import annotations

import sys
from functools import partial

import jax.numpy as jnp
from checkouts import StandIn, array, enter, put


def serving(devices):
    """Yield kernels of vLLM's TPU backend."""
    checkout = enter("vllm-project/tpu-inference")
    for name in ("tpu_inference", "tpu_inference.logger", "tpu_inference.utils"):
        sys.modules[name] = StandIn(name)
    sys.modules["tpu_inference"].__path__ = [str(checkout / "tpu_inference")]
    from tpu_inference.kernels.megablox.gmm_v2 import gmm_v2
    from tpu_inference.kernels.quantized_matmul.kernel import quantized_matmul_kernel

    x, w = array((1024, 4096), "bfloat16"), array((14336, 4096), "int8")
    int8 = partial(quantized_matmul_kernel, x_q_dtype=jnp.int8)
    yield "tpu-inference quantized_matmul", int8, put(devices[0], x, w, array((14336,)))

    x, w = array((1024, 2048), "bfloat16"), array((16, 2048, 1536), "bfloat16")
    yield "tpu-inference gmm_v2", gmm_v2, put(devices[0], x, w, array((16,), "int32"))


def recurrence(devices):
    """Yield RecurrentGemma's Pallas kernel for a linear recurrence, and its gradient."""
    types = ("recurrentgemma.jax.array_typing",)
    enter("google-deepmind/recurrentgemma", ".", without=types)
    sys.modules[types[0]].typed = lambda function: function
    from recurrentgemma.jax import pallas

    x = array((4, 2048, 2560))
    yield "recurrentgemma pallas_lru", pallas.pallas_lru, put(devices[0], x, x)


def programs(devices):
    """Yield the kernels of each repository."""
    for repository in (serving, recurrence):
        yield from repository(devices)
