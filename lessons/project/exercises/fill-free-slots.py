"""Schedule requests with continuous batching.

`steps_needed` gets how many tokens each request wants, in the order in which
they came, and a number of slots. In every step each slot with a request
writes one token. Before each step, free slots take waiting requests, in
order. Return how many steps it takes until all are done. The version below
fills the slots only when all of them are free.
"""


def steps_needed(wanted, slots):
    """Return the number of steps for all requests."""
    waiting = list(wanted)
    running = []
    steps = 0
    while waiting or running:
        if not running:  # your code here
            while waiting and len(running) < slots:
                running.append(waiting.pop(0))
        steps += 1
        running = [left - 1 for left in running if left > 1]
    return steps


# Judged below: leave this part as it is.


def judge(what, wanted, slots, expected):
    found = steps_needed(list(wanted), slots)
    message = f"{what}: {found} steps, expected {expected}"
    assert found == expected, message


judge("one request", [5], 4, 5)
judge("as many as slots", [5, 3, 9], 3, 9)
judge("a long one and short ones", [30, 4, 6, 5, 24, 4], 4, 30)
judge("one slot", [3, 2, 4], 1, 9)
judge("equal lengths", [5] * 8, 4, 10)
judge("many short ones beside a long one", [20] + [2] * 9, 2, 20)
judge("nothing to do", [], 4, 0)
print("no slot idles while a request waits")
