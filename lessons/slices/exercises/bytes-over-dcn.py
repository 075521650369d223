"""Will DCN hold up a training step?

Each slice has a copy of the model, sharded over its chips, and after the
backward pass the slices average their gradients. In a ring of `slices`
members, each chip sends 2 (slices - 1) / slices of its shard. Write
`dcn_seconds`, which returns how long that takes, and `is_hidden`, which says
whether it takes at most as long as the backward pass, which is two thirds
of the FLOPs of a step. A step needs 6 FLOPs for each parameter and token.
"""

BYTES_EACH = 2  # bfloat16
DCN_BYTES_PER_S = 25e9 / 8  # for each chip
FLOPS_PER_S = 100e12  # what a chip reaches in training


def dcn_seconds(params, chips, slices):
    """Return the seconds for the gradients; chips are those of a slice."""
    return params * BYTES_EACH / DCN_BYTES_PER_S  # your code here


def is_hidden(params, tokens_per_chip, chips, slices):
    """Return whether the backward pass is long enough."""
    flops = 6 * params * tokens_per_chip  # and here
    return dcn_seconds(params, chips, slices) <= flops / FLOPS_PER_S


# Judged below: leave this part as it is.


def close(what, found, expected):
    message = f"{what}: found {found:.4f} s, expected {expected:.4f} s"
    assert abs(found - expected) <= 1e-3 * max(expected, 1e-6), message


close("8 billion, 256 chips, 2 slices", dcn_seconds(8e9, 256, 2), 0.02)
close("with 4 slices", dcn_seconds(8e9, 256, 4), 0.03)
close("on 16 chips each", dcn_seconds(8e9, 16, 2), 0.32)
close("a single slice", dcn_seconds(8e9, 256, 1), 0.0)
for tokens, chips, expected in [
    (4096, 256, True),
    (64, 256, True),
    (8, 256, False),
    (64, 16, False),
    (900, 16, False),
    (1100, 16, True),
]:
    found = is_hidden(8e9, tokens, chips, 2)
    what = f"{tokens} tokens for each of {chips} chips a slice"
    assert found == expected, f"{what}: found {found}, expected {expected}"
print("the tokens of a step decide whether DCN is hidden")
