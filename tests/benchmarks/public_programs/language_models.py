"""Language models of public repositories, each with a step of training or of decoding."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from checkouts import array, enter, key, put, run_cells, spread
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def palm(devices):
    """Yield the loss's gradient of PaLM in Equinox, in which arrays are fields."""
    import equinox as eqx

    enter("lucidrains/PaLM-jax", ".")
    from palm_jax.palm_lite import PaLM

    sizes = {"num_tokens": 256, "dim": 512, "depth": 8, "heads": 8, "dim_head": 64}
    model = PaLM(**sizes, key=jax.random.PRNGKey(0))
    arrays, rest = eqx.partition(model, eqx.is_array)

    def loss(arrays, data):
        logits = eqx.combine(arrays, rest)(data[:, :-1])
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), data[:, 1:, None], axis=-1)
        return -jnp.mean(picked)

    data = array((4, 1025), "int32")
    yield "PaLM-jax loss gradient", jax.value_and_grad(loss), put(devices[0], arrays, data)


def llama(devices):
    """Yield a step of decoding of Llama 3.1 8B's layers, quantised, over a mesh."""
    enter("jax-ml/jax-llm-examples", "llama3")
    from llama3_jax import model as llama3

    scaling = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    config = {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "num_hidden_layers": 4,
        "vocab_size": 128256,
        "rope_theta": 500000.0,
        "rope_scaling": scaling,
    }
    yield from decode("llama3 decode_step", llama3, llama3.llama_to_jax_config(config), devices)


def qwen(devices):
    """Yield a step of decoding of Qwen 3 30B's layers of experts, over a mesh."""
    enter("jax-ml/jax-llm-examples", "qwen3")
    from qwen3_jax import model as qwen3

    config = {
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "head_dim": 128,
        "vocab_size": 151936,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1000000.0,
        "tie_word_embeddings": False,
    }
    yield from decode("qwen3 decode_step", qwen3, qwen3.hf_to_jax_config(config), devices, 2048)


def decode(name, module, config, devices, *more, batch=8):
    """Yield a step of decoding of one of the models of jax-llm-examples."""
    shape = (1, 4, len(devices) // 4)
    axes = (jax.sharding.AxisType.Explicit,) * 3
    mesh = Mesh(np.array(devices).reshape(shape), ("x", "y", "z"), axis_types=axes)
    parts = ("quant_layer", "quant_moe", "quant_mlp", "quant_attn", "quant_cache")
    quantised = {name: True for name in parts if hasattr(config, name)}
    config = dataclasses.replace(config, mesh=mesh, max_seq_len=2048, **quantised)

    def shapes(kind, *more):
        return jax.tree.map(
            lambda info, sharding: jax.ShapeDtypeStruct(info.shape, info.dtype, sharding=sharding),
            kind.abstract(config, *more),
            kind.shardings(config, *more),
            is_leaf=module.is_param,
        )

    weights, cache = shapes(module.Weights), shapes(module.KVCache, batch, *more)
    (tokens,) = spread(mesh, P(), array((batch, 1), "int32"))
    with jax.set_mesh(mesh):
        yield name, module.decode_step, (tokens, weights, cache, config)


def gemma(devices):
    """Yield the logits of Gemma 3 270M in Flax NNX."""
    from flax import nnx

    enter("google/flax", "examples/gemma")
    import transformer
    import transformer_cfg

    config = transformer_cfg.TransformerConfig.gemma3_270m(
        num_layers=6, attention_types=transformer_cfg.GEMMA3_ATTENTION_PATTERN
    )
    graph, state = nnx.split(
        nnx.eval_shape(lambda: transformer.Transformer(config, rngs=nnx.Rngs(0)))
    )

    def logits(state, tokens, positions, mask):
        return nnx.merge(graph, state)(tokens, positions, None, mask)[0]

    tokens = array((2, 1024), "int32")
    arguments = put(devices[0], state, tokens, tokens, array((2, 1024, 1024), "bool"))
    yield "gemma3_270m logits", logits, arguments


def nano_lm(devices):
    """Yield the step of Optax's notebook of a small language model."""
    import optax

    notebook = enter("google-deepmind/optax") / "examples/nanolm.ipynb"
    names = {"vocab": range(65), "train_data": np.zeros(1_000_000, np.int32)}
    beginnings = ("# @markdown", "dynamic_slice", "class NanoLM", "model = ")
    found = {"jax": jax, "jnp": jnp, "optax": optax}
    import functools

    import flax.linen as nn

    found |= {"nn": nn, "functools": functools}
    found = run_cells(notebook, *beginnings, names=found | names)
    optimizer = optax.adamw(found["LEARNING_RATE"])

    def make(seed):
        params = found["model"].init(seed, jnp.ones((128, 64), jnp.int32), training=False)
        return params, optimizer.init(params)

    def step(seed, params, state, data):
        batch = found["get_batch"](seed, data)
        _, gradients = jax.value_and_grad(found["loss_fun"])(params, *batch, seed)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    params, state = jax.eval_shape(make, key())
    data = array((1_000_000,), "int32")
    yield "nanolm step", step, put(devices[0], key(), params, state, data)


def programs(devices):
    """Yield the programs of each repository."""
    for model in (palm, nano_lm, llama, qwen, gemma):
        yield from model(devices)
