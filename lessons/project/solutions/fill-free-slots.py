"""When may a waiting request begin? What does the condition in the second
`if` ask for?

A single free slot is enough, so the question is whether fewer requests run
than there are slots.

The inner `while` asks exactly that. It needs no `if` around it.

Learned: With continuous batching a free slot is filled before the next step,
so the time is that of the work and no longer that of the longest answers.
"""


def steps_needed(wanted, slots):
    """Return the number of steps for all requests."""
    waiting = list(wanted)
    running = []
    steps = 0
    while waiting or running:
        while waiting and len(running) < slots:
            running.append(waiting.pop(0))
        steps += 1
        running = [left - 1 for left in running if left > 1]
    return steps
