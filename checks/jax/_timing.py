"""The duration of a loop, on each device alone and then on all at once, warmed up and repeated.

The rule to know: the loop runs on the device, and the number of rounds is an argument for each
device. So one program is compiled, warmed up, calibrated and measured; and a device with zero
rounds waits while another is measured, so that no clock but the host's is needed.

A loop is `function(times, x, *others) -> (x, sample)`, mapped over a row of devices:
`times: int32[d]` is the number of rounds of each device, `x` is what every round changes, `others`
stay as they are, and `sample` is a small part of the last `x`.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

REPEATS_ALONE, REPEATS_TOGETHER = 3, 5
"""Number of measurements: of each device alone, and of all at once."""

LEAST_BY_PLATFORM_S = {"cpu": 0.02}
"""Minimum seconds of one measurement, by platform; on others `LEAST_S`."""

LEAST_S = 0.1
"""Seconds compared with which the start of a program (0.1 to 1 ms) is short."""

MOST_ROUNDS = 2**20


@dataclass
class Timing:
    """The measurements of one loop, in seconds per round."""

    alone: list[list[float]] = field(default_factory=list)
    """For each device, the seconds of each repeat while the others waited."""
    together: list[float] = field(default_factory=list)
    """The seconds of each repeat until the last device was done."""
    rounds: int = 0
    """Rounds that every device made since the first `x`."""
    sample: Any = None
    """The small part of the last `x`: an array sharded over the devices."""

    @property
    def best(self) -> list[float]:
        """The least seconds of a round on each device alone."""
        return [min(times) for times in self.alone]

    @property
    def usual(self) -> list[float]:
        """The median seconds of a round on each device alone."""
        return [statistics.median(times) for times in self.alone]


def measure(
    loop: Callable,
    arguments: tuple,
    *,
    platform: str,
    alone: bool = True,
    agree: Callable[[float], float] = float,
) -> Timing:
    """Compile a loop and measure its rounds.

    Args:
        loop: A loop, not jitted; its `x` is donated, so it is needed in memory once or twice.
        arguments: Abstract `times`, then `x` and what else it takes, on the devices.
        platform: The platform, which decides the minimum duration of a measurement.
        alone: True to measure each device alone as well; False if the devices work together.
        agree: Function from this host's seconds to those that decide the number of rounds, which
            must be the same on all hosts.
    """
    times, x, *others = arguments
    compiled = jax.jit(loop, donate_argnums=1)
    everyone, least_s = np.ones(times.shape, np.int32), LEAST_BY_PLATFORM_S.get(platform, LEAST_S)
    timing = Timing()

    def run(often: np.ndarray) -> float:
        """Return the seconds until every device has made its number of rounds."""
        nonlocal x
        counts = jax.make_array_from_callback(often.shape, times.sharding, lambda at: often[at])
        jax.block_until_ready((counts, x, *others))
        began = time.perf_counter()
        x, timing.sample = jax.block_until_ready(compiled(counts, x, *others))
        return time.perf_counter() - began

    def quickest(often: np.ndarray) -> float:
        """Return the seconds of the shorter of two runs, because the host may delay one."""
        return min(run(often), run(often))

    run(everyone)
    rounds, done = 1, 1
    while (passed_s := agree(quickest(rounds * everyone))) < least_s and rounds < MOST_ROUNDS:
        done += 2 * rounds
        target = int(rounds * least_s / passed_s) + 1  # short runs overestimate a round
        rounds = min(MOST_ROUNDS, max(2 * rounds, min(16 * rounds, target)))
    timing.together = [run(rounds * everyone) / rounds for _ in range(REPEATS_TOGETHER)]
    for own in np.eye(len(everyone), dtype=np.int32) if alone else ():
        timing.alone.append([run(rounds * own) / rounds for _ in range(REPEATS_ALONE)])
    timing.rounds = done + rounds * (2 + REPEATS_TOGETHER + (REPEATS_ALONE if alone else 0))
    return timing
