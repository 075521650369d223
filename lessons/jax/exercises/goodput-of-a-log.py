"""Compute the goodput of a job from its log.

A log is a list of `(second, event)` in order. A run begins with `start`
and ends with `interrupted` or `end`; between runs you have no machine and
pay nothing. Each event lasts until the next one. `step 3` may come again
in a later run, because it was lost; then only the last one counts. A step
that an interruption ends doesn't count either.

`goodput(log)` returns the seconds of steps that count, divided by the
seconds that were paid for.
"""


def goodput(log):
    """Return the fraction of the paid seconds in steps that count."""
    paid = log[-1][0] - log[0][0]  # your code here
    return 1.0 if paid else 0.0


# Judged below: leave this part as it is.

ONE_RUN = [(0, "start"), (60, "step 1"), (70, "step 2"), (80, "save")]
ONE_RUN += [(85, "step 3"), (95, "end")]
TWO_RUNS = [(0, "start"), (40, "step 1"), (50, "step 2"), (60, "save")]
TWO_RUNS += [(64, "step 3"), (74, "step 4"), (80, "interrupted")]
TWO_RUNS += [(900, "start"), (940, "step 3"), (960, "step 4"), (970, "end")]
THREE_RUNS = [(0, "start"), (10, "step 1"), (20, "interrupted")]
THREE_RUNS += [(50, "start"), (60, "step 1"), (70, "interrupted")]
THREE_RUNS += [(100, "start"), (110, "step 1"), (120, "end")]
cases = ((ONE_RUN, 30, 95), (TWO_RUNS, 50, 150), (THREE_RUNS, 10, 60))
for log, good, paid in cases:
    found = goodput(log)
    assert abs(found - good / paid) < 1e-9, (
        f"`goodput` returned {found}, expected {good} of {paid} seconds, "
        f"for\n{log}"
    )
print("three logs, and only steps that count")
