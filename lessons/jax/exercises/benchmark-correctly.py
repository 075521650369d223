"""Mend a stopwatch that lies in three ways.

`median_seconds` calls `function` `times` times and returns the median of
the seconds that each call took, by `clock()`, which returns the time in
seconds. It lies: the first call, which compiles, is counted; the clock is
stopped before the result is there; and one slow call spoils the whole.
"""

import statistics
import time

import jax
import jax.numpy as jnp

tick = time.perf_counter


def median_seconds(function, *arguments, times=5, clock=tick):
    """Return the median of the seconds of a call, without compilation."""
    began = clock()
    for _ in range(times):
        function(*arguments)
    return (clock() - began) / times  # your code here


# Judged below: leave this part as it is.


class Machine:
    """A device with a clock of its own: work takes what we say."""

    def __init__(self, seconds):
        self.now, self.free, self.calls = 0.0, 0.0, 0
        self.seconds = seconds

    def clock(self):
        return self.now

    def __call__(self, *_):
        last = len(self.seconds) - 1
        taken = self.seconds[min(self.calls, last)]
        self.now += 0.001  # asking for the work
        self.free = max(self.now, self.free) + taken
        self.calls += 1
        return Result(self, self.free)


class Result:
    """What such a device gives back: it is there for who waits for it."""

    def __init__(self, machine, end):
        self.machine, self.end = machine, end

    def block_until_ready(self):
        self.machine.now = max(self.machine.now, self.end)
        return self


def judge(found, expected, told):
    same = abs(found - expected) < 1e-6
    assert same, f"{told}: found {found:.3f} s, expected {expected:.3f} s"


steady = Machine([1.0])
found = median_seconds(steady, 3, times=5, clock=steady.clock)
judge(found, 1.001, "a call takes 1 s, and 1 ms to ask")
calls = steady.calls
told = f"found {calls} calls for times=5"
assert calls in (6, 7), f"{told}, expected 5, and one or two to warm up"

compiles = Machine([60.0, 1.0])
found = median_seconds(compiles, 3, times=1, clock=compiles.clock)
judge(found, 1.001, "the first call compiles for 60 s")

disturbed = Machine([60.0, 1.0, 9.0, 2.0, 1.0, 3.0])
found = median_seconds(disturbed, 3, times=5, clock=disturbed.clock)
judge(found, 2.001, "after the first, calls take 1, 9, 2, 1 and 3 s")

square = jax.jit(lambda x: (x @ x).sum())
real = median_seconds(square, jnp.ones((64, 64)))
told = f"a product of 64 by 64 took {real:.3f} s"
assert 0 < real < 5, f"{told}, expected between 0 and 5"
print("an honest stopwatch")
