"""Count the parameters of published models from their sizes alone.

Llama models have the blocks of this project, with two differences. There
are `kv_heads` heads of keys and values, which several queries share, so the
matrices of key and value are smaller. And the larger models have a second
table for the logits, so their embedding is not `tied`. Write `count`, which
returns the number of parameters: embedding, blocks, final norm, and the
second table where there is one. No matrix has a bias.
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
    attention = 4 * sizes.embed**2
    mlp = 3 * sizes.embed * sizes.mlp
    blocks = sizes.layers * (attention + mlp + 2 * sizes.embed)
    return sizes.vocab * sizes.embed + blocks  # your code here


# Judged below: leave this part as it is.

MODELS = {
    "tiny of this project": (Sizes(128, 64, 4, 4, 192, 4, True), 221_760),
    "Llama 3.2 1B": (
        Sizes(128_256, 2048, 32, 8, 8192, 16, True),
        1_235_814_400,
    ),
    "Llama 2 7B": (
        Sizes(32_000, 4096, 32, 32, 11_008, 32, False),
        6_738_415_616,
    ),
    "Llama 3 8B": (
        Sizes(128_256, 4096, 32, 8, 14_336, 32, False),
        8_030_261_248,
    ),
}
for name, (sizes, expected) in MODELS.items():
    found = count(sizes)
    message = f"{name}: found {found:,}, which is {found - expected:+,}"
    assert found == expected, message
print("the count is exact for", ", ".join(MODELS))
