"""Correct a benchmark that makes three mistakes.

`median_seconds` calls `function` `repeats` times and returns the median
of the seconds that each call took, by `clock()`, which returns the time
in seconds. It makes three mistakes: it counts the first call, which
compiles; it stops the clock before the result is there; and it returns a
mean, which one slow call spoils.
"""

import statistics
import time

import jax
import jax.numpy as jnp

tick = time.perf_counter


def median_seconds(function, *arguments, repeats=5, clock=tick):
    """Return the median seconds of a call, without compilation."""
    start = clock()
    for _ in range(repeats):
        function(*arguments)
    return (clock() - start) / repeats  # your code here


# Judged below: leave this part as it is.


class Machine:
    """A device with a clock of its own, on which work takes given times."""

    def __init__(self, seconds):
        self.now = 0.0
        self.free = 0.0
        self.calls = 0
        self.seconds = seconds

    def clock(self):
        return self.now

    def __call__(self, *_):
        last = len(self.seconds) - 1
        taken = self.seconds[min(self.calls, last)]
        self.now += 0.001  # the dispatch
        self.free = max(self.now, self.free) + taken
        self.calls += 1
        return Result(self, self.free)


class Result:
    """A result that is there only after `block_until_ready`."""

    def __init__(self, machine, end):
        self.machine, self.end = machine, end

    def block_until_ready(self):
        self.machine.now = max(self.machine.now, self.end)
        return self


def judge(found, expected, message):
    same = abs(found - expected) < 1e-6
    assert same, f"{message}: found {found:.3f} s, expected {expected:.3f} s"


steady = Machine([1.0])
found = median_seconds(steady, 3, repeats=5, clock=steady.clock)
judge(found, 1.001, "each call takes 1 ms to dispatch and 1 s to run")
calls = steady.calls
message = f"found {calls} calls for repeats=5"
assert calls in (6, 7), f"{message}, expected 5, and one or two to warm up"

compiles = Machine([60.0, 1.0])
found = median_seconds(compiles, 3, repeats=1, clock=compiles.clock)
judge(found, 1.001, "the first call compiles for 60 s, the second takes 1 s")

disturbed = Machine([60.0, 1.0, 9.0, 2.0, 1.0, 3.0])
found = median_seconds(disturbed, 3, repeats=5, clock=disturbed.clock)
judge(found, 2.001, "after the first, calls take 1, 9, 2, 1 and 3 s")

square = jax.jit(lambda x: (x @ x).sum())
real = median_seconds(square, jnp.ones((64, 64)))
message = f"a matmul of 64 by 64 took {real:.3f} s"
assert 0 < real < 5, f"{message}, expected between 0 and 5"
print("a benchmark that waits, warms up and takes the median")
