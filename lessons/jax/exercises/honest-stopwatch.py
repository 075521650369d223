"""Mend a stopwatch that lies in three ways.

`median_seconds` calls `function` `times` times and returns the median of the seconds that each call
took, by `clock()`, which returns the time in seconds. It lies: the first call, which compiles, is
counted; the clock is stopped before the result is there; and one slow call spoils the whole.
"""

import statistics
import time

import jax
import jax.numpy as jnp


def median_seconds(function, *arguments, times=5, clock=time.perf_counter):
    """Return the median of the seconds a call takes, compilation left out."""
    began = clock()
    for _ in range(times):
        function(*arguments)
    return (clock() - began) / times  # your code here


# Judged below: leave this part as it is.


class Machine:
    """A device with a clock of its own: what is timed on it takes exactly as long as it says."""

    def __init__(self, seconds):
        self.now, self.seconds, self.calls, self.ready_at = 0.0, list(seconds), 0, []

    def clock(self):
        return self.now

    def __call__(self, *_):
        self.now += 0.001  # asking for the work
        end = max([self.now, *self.ready_at]) + self.seconds[min(self.calls, len(self.seconds) - 1)]
        self.calls += 1
        self.ready_at.append(end)
        return Result(self, end)


class Result:
    """What such a device gives back: it is there when somebody has waited for it."""

    def __init__(self, machine, end):
        self.machine, self.end = machine, end

    def block_until_ready(self):
        self.machine.now = max(self.machine.now, self.end)
        return self


def near(found, expected):
    return abs(found - expected) < 1e-6


steady = Machine([1.0])
found = median_seconds(steady, 3, times=5, clock=steady.clock)
assert near(found, 1.001), f"each call takes 1.001 s, found {found:.3f} s: wait for each result"
assert steady.calls in (6, 7), f"{steady.calls} calls for times=5, expected 5 and one to warm up"
compiles = Machine([60.0, 1.0])
found = median_seconds(compiles, 3, times=1, clock=compiles.clock)
assert near(found, 1.001), f"the first call compiles for 60 s, found {found:.3f} s, expected 1.001"
disturbed = Machine([60.0, 1.0, 9.0, 2.0, 1.0, 3.0])
found = median_seconds(disturbed, 3, times=5, clock=disturbed.clock)
assert near(found, 2.001), f"the median of 1, 9, 2, 1 and 3 s is 2.001 s, found {found:.3f} s"
real = median_seconds(jax.jit(lambda x: (x @ x).sum()), jnp.ones((64, 64)))
assert 0 < real < 5, f"a product of 64 by 64 took {real:.3f} s"
print("an honest stopwatch")
