"""Play the gap with two slots and requests of 1, 3 and 1 tokens. In which
step is a slot empty while somebody waits?

In step 2. A single free slot is enough to begin, so the question is not
whether nobody runs, but whether fewer requests run than there are slots.

The inner `while` asks exactly that. Take away the `if` around it.

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
