"""Which part of the gradients does a chip have? And how much of it does it
send in a ring of two members?

The shard is `params * BYTES_EACH / chips`, and it is sent
`2 * (slices - 1) / slices` times.

A chip does `6 * params * tokens_per_chip` FLOPs in a step, because its share
of the model and its share of the tokens make up for each other. Two thirds
of them are the backward pass.

Learned: What crosses DCN depends on the parameters alone, and the time to
hide it grows with the tokens in a step.
"""

BYTES_EACH = 2  # bfloat16
DCN_BYTES_PER_S = 25e9 / 8  # for each chip
FLOPS_PER_S = 100e12  # what a chip reaches in training


def dcn_seconds(params, chips, slices):
    """Return the seconds for the gradients; chips are those of a slice."""
    shard = params * BYTES_EACH / chips
    return shard * 2 * (slices - 1) / slices / DCN_BYTES_PER_S


def is_hidden(params, tokens_per_chip, chips, slices):
    """Return whether the backward pass is long enough."""
    flops = 6 * params * tokens_per_chip * 2 / 3
    return dcn_seconds(params, chips, slices) <= flops / FLOPS_PER_S
