"""The message says by how many parameters the count is off. For `tiny` it
is the number of one small vector. Which norm is missing?

Query and output are embed by embed. A head has embed / heads numbers, so
key and value are embed by kv_heads * (embed // heads).

A second table adds vocab times embed once more, unless the model is tied.

Learned: The parameters of a transformer follow from seven numbers, and fewer
heads of keys and values make attention smaller.
"""

from dataclasses import dataclass


@dataclass
class Sizes:
    vocab: int
    embed: int
    heads: int
    kv_heads: int
    mlp: int
    layers: int
    tied: bool


def count(sizes):
    """Return the number of parameters of a model."""
    table = sizes.vocab * sizes.embed
    of_keys = sizes.kv_heads * (sizes.embed // sizes.heads)
    attention = 2 * sizes.embed**2 + 2 * sizes.embed * of_keys
    mlp = 3 * sizes.embed * sizes.mlp
    blocks = sizes.layers * (attention + mlp + 2 * sizes.embed)
    tables = table if sizes.tied else 2 * table
    return tables + blocks + sizes.embed
