"""Weights of the transformer under the names that Hugging Face models use.

A PyTorch layer stores its weight as [out, in], with heads and the numbers
in a head on one axis. Here each weight is [in, out], with two axes for
them, and the blocks are stacked by layer.
"""

import json
import mmap
import struct
from pathlib import Path

import jax
import ml_dtypes
import numpy as np

DTYPES = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16}
IN_BLOCK = {
    "attention_norm": "input_layernorm.weight",
    "query": "self_attn.q_proj.weight",
    "key": "self_attn.k_proj.weight",
    "value": "self_attn.v_proj.weight",
    "output": "self_attn.o_proj.weight",
    "mlp_norm": "post_attention_layernorm.weight",
    "gate": "mlp.gate_proj.weight",
    "up": "mlp.up_proj.weight",
    "down": "mlp.down_proj.weight",
}
OUTSIDE = {"embedding": "embed_tokens.weight", "final_norm": "norm.weight"}
INDEX = "model.safetensors.index.json"


def read_header(path):
    """Return the JSON header of a safetensors file, and its length."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length)), 8 + length


def map_tensors(path):
    """Return the tensors of a file by name, as views that read nothing.

    A view reads from the disk only the pages that you touch.
    """
    header, data_start = read_header(path)
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tensors = {}
    for name, row in header.items():
        if name == "__metadata__":
            continue
        start, _ = row["data_offsets"]
        dtype, count = DTYPES[row["dtype"]], int(np.prod(row["shape"]))
        flat = np.frombuffer(memory, dtype, count, data_start + start)
        tensors[name] = flat.reshape(row["shape"])
    return tensors


def map_folder(folder):
    """Return the tensors of all files that the index of a folder names."""
    index = json.loads((Path(folder) / INDEX).read_text())
    tensors = {}
    for file in sorted(set(index["weight_map"].values())):
        tensors |= map_tensors(Path(folder) / file)
    return tensors


def turn(config, name, tensor):
    """Return a view of a tensor as this transformer has it."""
    count = config.key_heads if name in ("key", "value") else config.heads
    heads = (count, config.head_dim)
    if name in ("query", "key", "value"):
        return tensor.reshape(*heads, config.embed).transpose(2, 0, 1)
    if name == "output":
        return tensor.reshape(config.embed, *heads).transpose(1, 2, 0)
    return tensor.T if name in ("gate", "up", "down") else tensor


def views(config, tensors):
    """Return a tree like the parameters: for each one its layers, as views."""
    blocks = {
        name: [
            turn(config, name, tensors[f"model.layers.{layer}.{there}"])
            for layer in range(config.layers)
        ]
        for name, there in IN_BLOCK.items()
    }
    rest = {name: tensors[f"model.{there}"] for name, there in OUTSIDE.items()}
    return rest | {"blocks": blocks}


def load_param(view, sharding, dtype):
    """Return one parameter, of which each device gets its own shard."""
    stacked = isinstance(view, list)
    shape = (len(view), *view[0].shape) if stacked else view.shape

    def read(index):
        """Return one shard; index has a slice for each axis."""
        if stacked:
            parts = [layer[index[1:]] for layer in view[index[0]]]
            return np.stack(parts).astype(dtype)
        return view[index].astype(dtype)

    return jax.make_array_from_callback(shape, sharding, read)
