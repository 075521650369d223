"""The number of batches that each host has, and the hosts with fewer than others.

The rule to know: rows seldom divide by the number of hosts. Each host ends its loop with its own
last batch, and a host with one batch more waits forever in its next step.
"""

from tpustarter.checks.jax import _hosts
from tpustarter.probe.finding import Finding

SPLIT = "cut the files so that each host has equally many rows, or leave the rest of them out"


def compared(lengths, plans):
    """Yield the hosts whose number of batches differs from the plan, and those with the fewest."""
    lost = {
        _hosts.label(host): "" if length == plan else f"{length} of {plan} batches"
        for host, (length, plan) in enumerate(zip(lengths, plans, strict=True))
    }
    yield from _hosts.tally("SLICE-INPUT-LENGTH", "hosts with all their batches", lost, SPLIT)
    short = [_hosts.label(host) for host, length in enumerate(lengths) if length < max(lengths)]
    names = ", ".join(short[:8]) + f" and {len(short) - 8} more" * (len(short) > 8)
    text = f"{names}: {min(lengths)} of {max(lengths)} batches" if short else "none"
    yield Finding("SLICE-INPUT-SHORT", "hosts with fewer batches than others", "info", text)
