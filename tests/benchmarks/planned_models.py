"""Models in minimal JAX, at the sizes of their config.json, beside `tpustarter plan`.

    python tests/benchmarks/planned_models.py PYTHON [NAME ...]

PYTHON has jax and libtpu; this script runs where tpustarter is installed. Each model is rehearsed
with real shardings, and `plan --rehearsal` compares it. Wanted: weights, Adam and cache to the
byte, and the rest of a training step within 20 %.

Source of the sizes of three: https://huggingface.co/NAME, `config.json` (read on 2026-11-29). The
small one is what `tests/compile/test_planned.py` compiles.

Axes: `l` layers, `d` hidden size, `n` heads, `k` KV heads, `h` size of a head, `f` width of the
MLP, `e` experts, `v` vocabulary, `b` batch, `t` tokens, `s` tokens of the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

PROMPT = 2048
SMALL = "a Llama of 96 million parameters"
MODELS: dict[str, dict[str, Any]] = {
    SMALL: {
        "tpu": "v5e-8",
        "options": ["--context", "1024", "--batch", "2"],
        "config": {
            "model_type": "llama",
            "vocab_size": 32768,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 4,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "max_position_embeddings": 4096,
            "tie_word_embeddings": True,
        },
    },
    "meta-llama/Llama-3.2-1B": {
        "tpu": "v5e-8",
        "options": ["--context", "2048", "--batch", "2"],
        "config": {
            "model_type": "llama",
            "vocab_size": 128256,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 64,
            "max_position_embeddings": 131072,
            "tie_word_embeddings": True,
        },
    },
    "google/gemma-3-4b-it": {
        "tpu": "v5e-8",
        "options": ["--serve", "--context", "8192", "--batch", "4", "--tensor", "4"],
        "config": {
            "model_type": "gemma3_text",
            "vocab_size": 262208,
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "max_position_embeddings": 131072,
            "sliding_window": 1024,
            "sliding_window_pattern": 6,
        },
    },
    "Qwen/Qwen3-30B-A3B": {
        "tpu": "v6e-8",
        "options": ["--serve", "--context", "8192", "--batch", "4", "--tensor", "4"],
        "config": {
            "model_type": "qwen3_moe",
            "vocab_size": 151936,
            "hidden_size": 2048,
            "intermediate_size": 6144,
            "moe_intermediate_size": 768,
            "num_hidden_layers": 48,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "head_dim": 128,
            "num_experts": 128,
            "num_experts_per_tok": 8,
            "max_position_embeddings": 40960,
            "tie_word_embeddings": False,
        },
    },
}


def list_weights(config: dict[str, Any], layers: int) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Return the shape of each array of some layers, and its spec over `data` and `model`."""
    from jax.sharding import PartitionSpec as P

    d, h = config["hidden_size"], config["head_dim"]
    n, k = config["num_attention_heads"], config["num_key_value_heads"]
    f, e = config["intermediate_size"], config.get("num_experts")
    norms = {"before_attention": d, "before_mlp": d}
    if config["model_type"] == "gemma3_text":
        norms |= {"after_attention": d, "after_mlp": d}
    if config["model_type"] != "llama":
        norms |= {"query_norm": h, "key_norm": h}
    arrays: dict[str, tuple[tuple[int, ...], Any]] = {
        "query": ((layers, d, n, h), P(None, "data", "model")),
        "key": ((layers, d, k, h), P(None, "data", "model")),
        "value": ((layers, d, k, h), P(None, "data", "model")),
        "output": ((layers, n, h, d), P(None, "model", None, "data")),
        **{name: ((layers, size), P()) for name, size in norms.items()},
    }
    into, back = P(None, "data", "model"), P(None, "model", "data")
    if e is None:
        return arrays | {
            "gate": ((layers, d, f), into),
            "up": ((layers, d, f), into),
            "down": ((layers, f, d), back),
        }
    f = config["moe_intermediate_size"]
    into, back = P(None, None, "data", "model"), P(None, None, "model", "data")
    wide, narrow = (layers, e, d, f), (layers, e, f, d)
    arrays["router"] = ((layers, d, e), P(None, "data"))
    return arrays | {"gate": (wide, into), "up": (wide, into), "down": (narrow, back)}


def norm(x: Any, scale: Any) -> Any:
    """Return x with a mean square of 1 in each position, times the scale."""
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    wide *= jax.lax.rsqrt(jnp.mean(wide**2, -1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype)


def attend(q: Any, key: Any, value: Any, first: Any) -> Any:
    """Return attention of `q: [b, t, n, h]`, whose first token is at a position, in pieces."""
    import jax
    import jax.numpy as jnp

    (b, t, n, h), (s, k) = q.shape, key.shape[1:3]
    size = min(t, 16)  # queries at once, so that scores stay small, as in a flash kernel
    pieces = q.reshape(b, t // size, size, k, n // k, h).swapaxes(0, 1)

    @jax.checkpoint
    def one(piece: Any, number: Any) -> Any:
        scores = jnp.einsum("btkgh,bskh->bkgts", piece, key, preferred_element_type=jnp.float32)
        at = first + number * size + jnp.arange(size)
        mask = jnp.arange(s) <= at[:, None]
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1).astype(piece.dtype)
        return jnp.einsum("bkgts,bskh->btkgh", weights, value)

    _, found = jax.lax.scan(lambda _, x: (None, one(*x)), None, (pieces, jnp.arange(t // size)))
    return found.swapaxes(0, 1).reshape(b, t, n, h)


def route(weights: Any, x: Any, mesh: Any, top: int) -> Any:
    """Return the weighted outputs of each token's experts, whose width is over `model`."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    def local(router: Any, gate: Any, up: Any, down: Any, x: Any) -> Any:
        rows = x.reshape(-1, x.shape[-1])
        gates, chosen = jax.lax.top_k(jax.nn.softmax((rows @ router).astype(jnp.float32)), top)
        order = jnp.argsort(chosen.reshape(-1))
        sizes = jnp.bincount(chosen.reshape(-1), length=router.shape[-1])
        copies = rows[order // top]
        wide = jax.nn.silu(jax.lax.ragged_dot(copies, gate, sizes))
        wide *= jax.lax.ragged_dot(copies, up, sizes)
        mixed = jax.lax.ragged_dot(wide, down, sizes)
        mixed *= gates.reshape(-1)[order][:, None].astype(x.dtype)
        summed = jnp.zeros_like(rows).at[order // top].add(mixed)
        return jax.lax.psum(summed, "model").reshape(x.shape)

    width, back = P(None, None, "model"), P(None, "model")
    specs = (P(), width, width, back, P("data"))
    names = ("router", "gate", "up", "down")
    call = jax.shard_map(local, mesh=mesh, in_specs=specs, out_specs=P("data"), check_vma=False)
    return call(*(weights[name] for name in names), x)


def run_layer(
    config: dict[str, Any], mesh: Any, weights: Any, x: Any, *, cache: Any, first: Any
) -> tuple[Any, Any]:
    """Return `x: [b, t, d]` after one layer, and its keys and values; without cache those of x."""
    import jax
    import jax.numpy as jnp

    narrow = {name: one.astype(jnp.bfloat16) for name, one in weights.items()}
    h = norm(x, weights["before_attention"])
    q, key, value = (
        jnp.einsum("btd,dnh->btnh", h, narrow[name]) for name in ("query", "key", "value")
    )
    if "query_norm" in weights:
        q, key = norm(q, weights["query_norm"]), norm(key, weights["key_norm"])
    new = key, value
    if cache is not None:
        at = first % cache[0].shape[1]
        new = tuple(
            jax.lax.dynamic_update_slice_in_dim(old, one[:, -old.shape[1] :], at, 1)
            for old, one in zip(cache, (key, value), strict=True)
        )
    mixed = jnp.einsum("btnh,nhd->btd", attend(q, *new, first), narrow["output"])
    x = x + (norm(mixed, weights["after_attention"]) if "after_attention" in weights else mixed)
    h = norm(x, weights["before_mlp"])
    if "router" in weights:
        mixed = route(narrow, h, mesh, config["num_experts_per_tok"])
    else:
        mixed = (jax.nn.silu(h @ narrow["gate"]) * (h @ narrow["up"])) @ narrow["down"]
    return x + (norm(mixed, weights["after_mlp"]) if "after_mlp" in weights else mixed), new


def make_shapes(config: dict[str, Any], mesh: Any, dtype: str, runs: list[int]) -> dict[str, Any]:
    """Return the parameters, those of each run of layers stacked."""
    import jax
    from jax.sharding import NamedSharding
    from jax.sharding import PartitionSpec as P

    def make(shape: tuple[int, ...], spec: Any) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    v, d = config["vocab_size"], config["hidden_size"]
    tied = config.get("tie_word_embeddings", True)
    ends = {} if tied else {"unembedding": make((v, d), P("model", "data"))}
    arrays = [list_weights(config, layers) for layers in runs]
    return {
        "embedding": make((v, d), P("model", "data")),
        "last_norm": make((d,), P()),
        "runs": [{name: make(*one) for name, one in run.items()} for run in arrays],
        **ends,
    }


def training(config: dict[str, Any], devices: Any, batch: int, context: int) -> tuple[Any, Any]:
    """Return a step of Adam with FSDP over all devices, and its arguments."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(devices).reshape(-1, 1), ("data", "model"))
    params = make_shapes(config, mesh, "float32", [config["num_hidden_layers"]])
    rows = NamedSharding(mesh, P("data"))

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embedding"].astype(jnp.bfloat16)[tokens[:, :-1]]
        x = jax.lax.with_sharding_constraint(x, rows)

        @jax.checkpoint
        def layer(x: Any, weights: Any) -> tuple[Any, None]:
            return run_layer(config, mesh, weights, x, cache=None, first=0)[0], None

        x, _ = jax.lax.scan(layer, x, params["runs"][0])
        x = norm(x, params["last_norm"])
        logits = jnp.einsum(
            "btd,vd->btv",
            x,
            params["embedding"].astype(jnp.bfloat16),
            preferred_element_type=jnp.float32,
        )
        picked = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)

    def step(params: Any, first: Any, second: Any, tokens: Any) -> Any:
        gradients = jax.grad(loss)(params, tokens)
        tree = jax.tree.map
        first = tree(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = tree(lambda m, g: 0.99 * m + 0.01 * g * g, second, gradients)
        update = lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-8)  # noqa: E731
        return tree(update, params, first, second), first, second

    size = batch * len(devices), context + 1
    tokens = jax.ShapeDtypeStruct(size, "int32", sharding=rows)
    return jax.jit(step, donate_argnums=(0, 1, 2)), (params, params, params, tokens)


def serving(
    config: dict[str, Any], devices: Any, batch: int, context: int, tensor: int
) -> tuple[Any, Any]:
    """Return a step that reads a piece of a prompt in each replica, and its arguments."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(devices).reshape(-1, tensor), ("data", "model"))
    pattern, window = config.get("sliding_window_pattern"), config.get("sliding_window")
    layers = config["num_hidden_layers"]
    full = layers // pattern if pattern else layers
    runs = [(full, context)] + ([(layers - full, window)] if pattern else [])
    params = make_shapes(config, mesh, "bfloat16", [count for count, _ in runs])

    def drop_data(one: Any) -> Any:  # weights are whole in each replica
        spec = P(*(None if axis == "data" else axis for axis in one.sharding.spec))
        return jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=NamedSharding(mesh, spec))

    params = jax.tree.map(drop_data, params)
    replicas = len(devices) // tensor
    k, h = config["num_key_value_heads"], config["head_dim"]
    heads = NamedSharding(mesh, P(None, "data", None, "model"))

    def make_cache(count: int, length: int) -> Any:
        shape = (count, batch * replicas, min(length, context), k, h)
        return jax.ShapeDtypeStruct(shape, "bfloat16", sharding=heads)

    cache = [(make_cache(*run), make_cache(*run)) for run in runs]

    def step(params: Any, cache: Any, tokens: Any, first: Any) -> Any:
        x, kept = params["embedding"][tokens], []
        for weights, (keys, values) in zip(params["runs"], cache, strict=True):

            def layer(x: Any, given: Any) -> Any:
                weights, key, value = given
                return run_layer(config, mesh, weights, x, cache=(key, value), first=first)

            x, new = jax.lax.scan(layer, x, (weights, keys, values))
            kept.append(new)
        last = norm(x[:, -1], params["last_norm"])
        matrix = params.get("unembedding", params["embedding"])
        return jnp.einsum("bd,vd->bv", last, matrix, preferred_element_type=jnp.float32), kept

    rows = NamedSharding(mesh, P("data"))
    tokens = jax.ShapeDtypeStruct((batch * replicas, PROMPT // batch), "int32", sharding=rows)
    first = jax.ShapeDtypeStruct((), "int32", sharding=NamedSharding(mesh, P()))
    return jax.jit(step, donate_argnums=1), (params, cache, tokens, first)


def programs(devices: Any) -> Any:
    """Yield the model that `PLANNED_MODEL` names."""
    row = MODELS[os.environ["PLANNED_MODEL"]]
    given = dict(zip(row["options"][-2::-2], row["options"][::-2], strict=False))
    batch, context = int(given["--batch"]), int(given["--context"])
    if "--serve" in row["options"]:
        make = partial(serving, tensor=int(given["--tensor"]))
    else:
        make = training
    yield os.environ["PLANNED_MODEL"], *make(row["config"], devices, batch, context)


def compare(name: str, python: str, folder: Path) -> None:
    """Print the sizes that `plan --rehearsal` estimates and measures for one model."""
    row = MODELS[name]
    (folder / "config.json").write_text(json.dumps(row["config"]))
    own = [sys.executable, "-m", "tpustarter"]
    options = ["--tpu", row["tpu"], "--python", python, "--compiler", python, "--json"]
    environment = {**os.environ, "PLANNED_MODEL": name}
    command = [*own, "rehearse", __file__, *options, "--timeout", "3600"]
    text = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False).stdout
    (folder / "rehearsal.json").write_bytes(text)
    plan = [*own, "plan", str(folder), *row["options"], "--tpu", row["tpu"]]
    plan += ["--rehearsal", str(folder / "rehearsal.json"), "--json"]
    found = json.loads(subprocess.run(plan, capture_output=True, check=False).stdout)
    result = json.loads(text)["results"][0]
    if result["status"] != "compiles":
        print(f"{name}: {result['status']}, {result['reason']}")
        return
    (both,) = found["rehearsals"]
    parts = {part["name"]: part["bytes"] for part in found["tpus"][0]["parts"]}
    memory = result["memory"]
    state = sum(parts[one] for one in ("weights", "Adam", "cache") if one in parts)
    rest, planned = both["rehearsed"] - memory["arguments"], both["planned"] - state
    extra = memory["arguments"] - state
    print(f"{name} for {row['tpu']}: plan {' '.join(row['options'])}")
    print(f"  weights and Adam or cache   {state:>15,} planned, {extra:>9,} B more as arguments")
    print(f"  the rest                    {planned:>15,} planned, {rest:>15,} by the compiler")
    print(f"  one device                  {both['planned']:>15,} planned, {both['rehearsed']:>15,}")
    print(f"  planned {both['planned'] / both['rehearsed']:.3f} x, the rest {planned / rest:.2f} x")


def main() -> None:
    """Compare the models that are named, or all."""
    python, names = sys.argv[1], sys.argv[2:] or [*MODELS]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            compare(name, python, Path(folder))


if __name__ == "__main__":
    main()
