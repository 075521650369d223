"""Compute the MFU of a run from the lines of its log.

A log has a line for each step, such as

    step 120 loss 2.31 tokens 131072 seconds 0.71

and other lines in between, such as `saved checkpoint`.

`mfu` takes the lines, the FLOPs that the model needs for a token, and the
peak of all chips in FLOP/s. It returns the MFU of the steps from `first`
on, because the first ones compile. The MFU of several steps is their FLOPs
divided by the FLOPs that the chips could have done in their time. That is
not the mean of the steps' own MFU. If no step is left, it returns None.
"""


def mfu(lines, flops_per_token, peak, first=10):
    """Return the MFU of the steps from `first` on."""
    shares = []
    for line in lines:
        words = line.split()
        tokens, seconds = int(words[5]), float(words[7])
        shares.append(tokens * flops_per_token / seconds / peak)
    return sum(shares) / len(shares)  # fix this


# Judged below: leave this part as it is.


def log(seconds, tokens=1000, start=0):
    return [
        f"step {start + i} loss 2.31 tokens {tokens} seconds {s}"
        for i, s in enumerate(seconds)
    ]


FLOPS, PEAK = 6e6, 1e11
CASES = [
    ("the same time in each step", log([0.1] * 20), 10, 0.6),
    ("a first step of a minute", log([60] + [0.1] * 19), 1, 0.6),
    ("half of the steps slower", log([0.1, 0.3] * 10), 0, 0.3),
    (
        "a log that begins at step 500",
        log([0.2] * 4, start=500),
        501,
        0.3,
    ),
    (
        "steps of different sizes",
        log([0.1], 1000) + log([0.1], 500, start=1),
        0,
        0.45,
    ),
    ("no step left", log([0.1] * 5), 10, None),
    (
        "a line that is not a step",
        [*log([0.1] * 4), "saved checkpoint", *log([0.3] * 2, start=4)],
        4,
        0.2,
    ),
]
for case, lines, first, expected in CASES:
    try:
        found = mfu(lines, FLOPS, PEAK, first)
    except (ZeroDivisionError, ValueError, IndexError) as error:
        found = f"{type(error).__name__}: {error}"
    close = found == expected or (
        isinstance(found, float)
        and expected is not None
        and abs(found - expected) < 1e-9
    )
    assert close, f"{case}: found {found}, expected {expected}"
print("MFU", f"{mfu(log([0.1, 0.3] * 10), FLOPS, PEAK, 0):.0%}")
