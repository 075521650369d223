"""Find the smallest batch that is compute-bound.

A layer multiplies a batch of `rows` by a matrix of `size` by `size`, all
in bfloat16, which takes 2 bytes per element. It reads the rows and the
matrix from HBM, and writes as many rows. Each element of the result takes
`size` multiplications and as many additions.

Write `minimum_batch`: the smallest number of rows whose operations take at
least as long as moving their bytes to or from memory. Return None if there
is no such number, however large the batch.
"""

import signal


def minimum_batch(peak_tflops, memory_gb_per_s, size):
    """Return the smallest number of rows, or None."""
    return 1  # your code here


# Judged below: leave this part as it is.


def still_searching(*_):
    case = f"{chip}, {size} by {size}: no answer after 5 seconds"
    raise AssertionError(f"{case}. Is any number of rows large enough?")


signal.signal(signal.SIGALRM, still_searching)

CHIPS = {"v5e": (197, 819), "v6e": (918, 1638), "TPU7x": (2307, 7380)}
EXPECTED = {
    ("v5e", 8192): 256,
    ("v6e", 8192): 650,
    ("TPU7x", 8192): 339,
    ("v5e", 1024): 454,
    ("v6e", 2048): 1239,
    ("v6e", 1024): None,
    ("v5e", 256): None,
}
for (chip, size), expected in EXPECTED.items():
    signal.alarm(5)
    found = minimum_batch(*CHIPS[chip], size)
    signal.alarm(0)
    message = f"{chip}, {size} by {size}: found {found}"
    assert found == expected, f"{message}, expected {expected}"
print(len(EXPECTED), "cases; small matrices stay memory-bound")
