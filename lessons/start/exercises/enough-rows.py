"""Find how many rows a chip needs to be limited by its MXU, and no longer by its memory.

A layer multiplies `rows` of a batch by a matrix of `size` by `size`, all in bfloat16, 2 bytes each.
It reads the rows and the matrix, and writes as many rows. Each number of the result takes `size`
multiplications and as many additions.

Write `enough_rows`: the smallest number of rows whose operations take at least as long as moving
its bytes, or None if there is no such number: then no batch is large enough.
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
    assert found == expected, f"{chip}, {size} by {size}: found {found}, expected {expected}"
print(len(EXPECTED), "cases, and small matrices are never enough")
