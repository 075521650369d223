"""Operations / peak is one time, bytes / speed the other. Mind the units:
1 TFLOP/s is 1e12 operations a second, 1 GB/s is 1e9 bytes.

With `rows` there are 2 * rows * size * size operations, and
2 * (2 * rows * size + size * size) bytes. You can count rows up from 1
until the operations take longer. Where do you stop, if they never do?

Operations per byte are rows * size / (2 * rows + size). That grows with
the rows, towards size / 2, and never reaches it.

So if peak / memory is size / 2 or more, the answer is None. Otherwise
count up until rows * size / (2 * rows + size) is at least peak / memory.
"""


def enough_rows(peak_tflops, memory_gb_per_s, size):
    """Return the smallest number of rows, or None."""
    needed = peak_tflops * 1000 / memory_gb_per_s
    if needed >= size / 2:
        return None
    rows = 1
    while rows * size / (2 * rows + size) < needed:
        rows += 1
    return rows
