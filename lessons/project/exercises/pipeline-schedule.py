"""Say which microbatch each stage works on, forward and back.

`schedule(stages, microbatches)` returns a list with one entry for each tick,
and each entry has one string for each stage. `F2` is the forward pass of
microbatch 2, `B2` its backward pass, and `--` is the bubble. All forward
passes come first. A microbatch enters stage 0 at each tick and moves on to
the next stage at the following one. Right after the last forward pass of the
last stage, the backward passes begin there, with the last microbatch, and
move towards stage 0.
"""


def schedule(stages, microbatches):
    """Return the work of each stage at each tick."""
    ticks = microbatches + stages - 1
    rows = []
    for now in range(ticks):
        row = []
        for stage in range(stages):
            number = now + stage  # your code here
            works = 0 <= number < microbatches
            row.append(f"F{number}" if works else "--")
        rows.append(row)
    return rows


# Judged below: leave this part as it is.

found = schedule(2, 2)
expected = [
    ["F0", "--"],
    ["F1", "F0"],
    ["--", "F1"],
    ["--", "B1"],
    ["B1", "B0"],
    ["B0", "--"],
]
for now, row in enumerate(expected):
    there = found[now] if now < len(found) else "nothing"
    message = f"2 stages, tick {now}: found {there}, expected {row}"
    assert there == row, message
for stages, microbatches in [(1, 3), (4, 1), (4, 8), (3, 5)]:
    rows = schedule(stages, microbatches)
    ticks = 2 * (microbatches + stages - 1)
    message = f"{stages} stages: found {len(rows)} ticks, expected {ticks}"
    assert len(rows) == ticks, message
    when = {
        (work, stage): now
        for now, row in enumerate(rows)
        for stage, work in enumerate(row)
        if work != "--"
    }
    message = f"{stages} stages do {len(when)} pieces of work, "
    message += f"expected {2 * stages * microbatches}"
    assert len(when) == 2 * stages * microbatches, message
    for number in range(microbatches):
        for stage in range(1, stages):
            forward = when[f"F{number}", stage] - when[f"F{number}", stage - 1]
            message = f"F{number} is at stage {stage} {forward} ticks later"
            assert forward == 1, message
            back = when[f"B{number}", stage - 1] - when[f"B{number}", stage]
            message = f"B{number} is at stage {stage - 1} {back} ticks later"
            assert back == 1, message

for stage in range(4):
    print(" ".join(row[stage] for row in schedule(4, 4)))
