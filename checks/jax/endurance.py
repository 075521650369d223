"""Results stay bit-identical under load."""

import time

import jax

from tpustarter.checks.jax import _evidence, _pattern, _soak
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.probe.finding import Progress
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "soak"
NEEDS = {}
TIMEOUT_S = 600
ESTIMATE_S = 1
LESSON = "trouble/wrong-numbers"
SOURCE = "https://arxiv.org/abs/2312.11805"
AFTER = ["jax.devices_visible"]

MINUTES = 10.0
"""How long the work goes on where nothing was said."""

LOOKS = 8, 1000
"""How often the host looks at the devices: at least, and about at most."""

EVERY_S = 1.0, 15.0
"""Seconds from look to look where that leaves enough of them: at each the run may be ended."""


def programs(devices):
    """Yield the programs of the rounds, then those of the memory."""
    yield from _soak.programs(devices)
    yield from _pattern.programs(devices)


@with_defaults
def run():
    """Repeat the same work and rewrite the memory until the time is up or the run should end."""
    devices, minutes = jax.local_devices(), target().minutes
    requested_s = 60 * (MINUTES if minutes is None else minutes)
    rounds, memory = _soak.Rounds(devices), _pattern.Memory(devices)
    yield from _evidence.at_the_start(rounds)
    began, ran_s = time.monotonic(), 0.0
    while ran_s < requested_s:
        next_s = min(every_s(requested_s), requested_s - ran_s)
        memory.leave_room(lambda: rounds.go_on(next_s))  # noqa: B023  called at once
        memory.go_on()
        ran_s = time.monotonic() - began
        if (yield Progress(so_far(ran_s, requested_s, rounds, memory))):
            break
    if rounds.completed:
        yield from _evidence.of_rounds(rounds)
        yield from _evidence.of_memory(memory)
        yield from _evidence.of_speed(rounds)
    yield _evidence.of_time(ran_s, requested_s, rounds.completed)


def every_s(requested_s):
    """Return the seconds of work between two comparisons."""
    least, most = LOOKS
    seconds = min(max(EVERY_S[0], requested_s / most), EVERY_S[1])
    return min(seconds, requested_s / least)


def so_far(ran_s, requested_s, rounds, memory):
    """Return the progress and the number of wrong results so far, as text."""
    compared = rounds.completed * sum(rounds.sizes) * len(rounds.devices) + memory.words
    wrong = rounds.wrong.sum() + sum(memory.wrong)
    text = f"{ran_s / 60:.1f} of {requested_s / 60:.4g} min, {rounds.completed} rounds, "
    return f"{text}{compared:.1e} comparisons" + (f", {wrong} wrong" if wrong else "")
