"""Each of the three mistakes has its own line. Correct one at a time.

Call the function once before the loop, and wait for its result, because
that call compiles.

Inside the loop read the clock, call, wait with
`jax.block_until_ready(...)`, and read the clock again. Keep the
difference in a list.

Return `statistics.median` of that list.

Learned: A benchmark of JAX code compiles before it starts the clock, waits
for the result before it stops the clock, and reports the median.
"""

import statistics
import time

import jax
import jax.numpy as jnp

tick = time.perf_counter


def median_seconds(function, *arguments, repeats=5, clock=tick):
    """Return the median seconds of a call, without compilation."""
    jax.block_until_ready(function(*arguments))
    seconds = []
    for _ in range(repeats):
        start = clock()
        jax.block_until_ready(function(*arguments))
        seconds.append(clock() - start)
    return statistics.median(seconds)
