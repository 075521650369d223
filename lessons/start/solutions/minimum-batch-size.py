"""Operations divided by the peak give one time, and bytes divided by the
bandwidth give the other. Mind the units: 1 TFLOP/s is 1e12 operations per
second, and 1 GB/s is 1e9 bytes per second.

With `rows` there are 2 * rows * size * size operations, and
2 * (2 * rows * size + size * size) bytes. You can count rows up from 1
until the operations take longer. Where do you stop, if they never do?

The arithmetic intensity is rows * size / (2 * rows + size). It grows with
the rows, towards size / 2, and never reaches it.

So if peak / bandwidth is size / 2 or more, the answer is None. Otherwise
count up until rows * size / (2 * rows + size) is at least
peak / bandwidth.

Learned: A matmul is compute-bound once its arithmetic intensity reaches
peak divided by bandwidth, and a small matrix never gets there.
"""

import signal


def minimum_batch(peak_tflops, memory_gb_per_s, size):
    """Return the smallest number of rows, or None."""
    needed = peak_tflops * 1000 / memory_gb_per_s
    if needed >= size / 2:
        return None
    rows = 1
    while rows * size / (2 * rows + size) < needed:
        rows += 1
    return rows
