"""Walk over pairs of neighbours, `zip(log, log[1:])`: the second of each
pair says when the first one ended.

Keep a dictionary of seconds by step, so that a step that comes again
replaces its earlier self. Leave out the time that follows `interrupted`.

Learned: Goodput is known only afterwards, because a later run decides
which of the earlier steps count.
"""


def goodput(log):
    """Return the fraction of the paid seconds in steps that count."""
    paid = 0
    steps = {}
    for (begun, event), (ended, following) in zip(log, log[1:]):
        if event == "interrupted":
            continue
        paid += ended - begun
        if event.startswith("step"):
            steps[event] = ended - begun
            if following == "interrupted":
                del steps[event]
    return sum(steps.values()) / paid


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
