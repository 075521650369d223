"""Find how many rows a chip needs until its MXU sets the speed.

A layer multiplies `rows` of a batch by a matrix of `size` by `size`, all
in bfloat16: 2 bytes a number. It reads the rows and the matrix, and
writes as many rows. Each number of the result takes `size`
multiplications and as many additions.

Write `enough_rows`: the smallest number of rows whose operations take at
least as long as moving its bytes to or from memory. Return None if there
is no such number, however large the batch.
"""


def enough_rows(peak_tflops, memory_gb_per_s, size):
    """Return the smallest number of rows, or None."""
    return 1  # your code here


# Judged below: leave this part as it is.

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
    found = enough_rows(*CHIPS[chip], size)
    told = f"{chip}, {size} by {size}: found {found}"
    assert found == expected, f"{told}, expected {expected}"
print(len(EXPECTED), "cases, and small matrices are never enough")
