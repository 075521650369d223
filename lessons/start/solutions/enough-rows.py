"""The one takes operations / peak, the other bytes / speed: 1 TFLOP/s is 1e12, 1 GB/s is 1e9.

With `rows` there are 2 * rows * size * size operations, and 2 * (2 * rows * size + size * size)
bytes. You can count up from 1, but where do you stop, if it is never enough?

The intensity rows * size / (2 * rows + size) grows with the rows, up to size / 2 and never over it.
So if peak / memory is size / 2 or more, the answer is None. Otherwise count up until it is reached.
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
