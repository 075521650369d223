"""Each of the three lies has its own line. Mend them one at a time.

Call the function once before the loop, and wait for its result: that call
compiles.

Inside the loop: read the clock, call, `jax.block_until_ready(...)`, read
the clock again. Keep the difference in a list.

`statistics.median` of that list is what to return.
"""

import statistics
import time

import jax
import jax.numpy as jnp

tick = time.perf_counter


def median_seconds(function, *arguments, times=5, clock=tick):
    """Return the median of the seconds of a call, without compilation."""
    jax.block_until_ready(function(*arguments))
    taken = []
    for _ in range(times):
        began = clock()
        jax.block_until_ready(function(*arguments))
        taken.append(clock() - began)
    return statistics.median(taken)
