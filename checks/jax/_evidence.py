"""Findings of minutes of work: comparisons made, the error rate that they exclude, and speeds.

The rule to know: nothing wrong in n comparisons excludes an error rate of 3 / n or more, at 95 %
confidence. It holds for random errors: an error that depends on heat, or on certain numbers, is
not equally likely in every comparison.
Source: https://en.wikipedia.org/wiki/Rule_of_three_(statistics)
"""

import statistics

from tpustarter.checks.jax import _work
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding, Hint

AGAIN = Hint.run(
    "tpustarter check jax.endurance --minutes 60", "; do not trust a device that fails twice"
)

ON_GPU = Hint.run("XLA_FLAGS=--xla_gpu_deterministic_ops=true tpustarter check jax.endurance")
"""Source: https://github.com/openxla/xla/blob/main/docs/determinism.md"""

OTHER = "not applicable: this device would have to convert them"

LONGER = Hint.see("tpustarter check jax.endurance --minutes 10", "runs for longer")


def at_the_start(rounds):
    """Yield the number of devices that agreed on the results before the soak began."""
    yield from tally("JAX-SOAK-START", "devices with the same results at the start",
                     rounds.outsiders(), hint(rounds.devices))  # fmt: skip


def of_rounds(rounds):
    """Yield for each kind of work on which devices it changed, and what is excluded."""
    for kind, (name, size) in enumerate(zip(rounds.names, rounds.sizes, strict=True)):
        code = _work.WORK[name].__name__.upper()
        what, middle = f"devices whose {name} never changed", f"JAX-SOAK-{code}"
        yield from tally(middle, what, rounds.lost(kind), hint(rounds.devices))
        compared = size * rounds.completed * len(rounds.devices)
        rate = excluded(sum(rounds.wrong[:, kind]), compared)
        yield Finding(f"{middle}-ERRORS", f"error rate of {name}", "info", rate)
    for name in _work.WORK.keys() - rounds.names:
        code = _work.WORK[name].__name__.upper()
        yield Finding(f"JAX-SOAK-{code}", name, "info", OTHER)


def of_memory(memory):
    """Yield on which devices words changed, how much was covered, and what is excluded."""
    size = f"{len(memory.chunks) * memory.bytes / 2**20:.0f} MiB in {len(memory.chunks)} chunks"
    note = "" if memory.limit_known else ", because these devices do not report free memory"
    covered = f"{size}, {memory.passes} times{note}"
    yield Finding("JAX-SOAK-MEMORY-COVERED", "memory written on each device", "info", covered)
    if memory.words:
        name = "devices that kept every word of memory"
        yield from tally("JAX-SOAK-MEMORY", name, memory.lost(), AGAIN)
    rate = excluded(sum(memory.wrong), memory.words)
    yield Finding("JAX-SOAK-MEMORY-ERRORS", "error rate of words kept", "info", rate)


def excluded(wrong, compared):
    """Return the error rate that the comparisons exclude at 95 % confidence, or the observed."""
    if not compared:
        return "nothing compared"
    if wrong:
        return f"{wrong / compared:.1e}: {wrong} of {compared:.1e} wrong"
    return f"below {3 / compared:.1e} (95 %): 0 of {compared:.1e} wrong"


def of_speed(rounds):
    """Yield the rounds per second at the start and at the end, and the slowest device."""
    most = max(times for times, _ in rounds.speeds)
    speeds = [rates for times, rates in rounds.speeds if times * 2 >= most]  # no start-up
    part = max(1, len(speeds) // 4)
    first, last = (statistics.median(map(min, looks)) for looks in (speeds[:part], speeds[-part:]))
    yield Finding(
        "JAX-SOAK-SPEED-FIRST", "speed at the start", "info", four_digits(first), unit="rounds/s"
    )
    name = f"speed at the end, {last / first - 1:+.1%}"
    yield Finding("JAX-SOAK-SPEED-LAST", name, "info", four_digits(last), unit="rounds/s")
    usual = [statistics.median(rates) for rates in zip(*speeds, strict=True)]
    slowest, all_of_them = min(usual), statistics.median(usual)
    if len(usual) > 1:
        device = label(rounds.devices[usual.index(slowest)])
        name = f"slowest device, {slowest / all_of_them - 1:+.1%}"
        yield Finding("JAX-SOAK-SPEED-SLOWEST", name, "info", four_digits(slowest),
                      four_digits(all_of_them), "rounds/s", device)  # fmt: skip


def four_digits(number):
    """Return a number rounded to four significant digits."""
    return float(f"{number:.4g}")


def of_time(ran_s, requested_s, rounds):
    """Return the finding that compares the run time with the requested time."""
    name, minutes = (
        f"time under load, {rounds} rounds",
        (four_digits(ran_s / 60), four_digits(requested_s / 60)),
    )
    if not rounds:
        return Finding("JAX-SOAK-TIME", name, "warn", *minutes, "min", hint=LONGER)
    verdict = "ok" if ran_s >= requested_s else "info"
    return Finding("JAX-SOAK-TIME", name, verdict, *minutes, "min")


def hint(devices):
    """Return the advice on changed bits, which are documented for some operations on a GPU."""
    return ON_GPU if devices[0].platform == "gpu" else AGAIN
