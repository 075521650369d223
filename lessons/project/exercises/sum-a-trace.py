"""Add up the time of the operations in a trace, without counting twice.

The events of a trace have a name, a thread, a start and a duration in
microseconds. On one thread they are nested: an event may contain others,
as a loop contains the operations of its body. If you add up all durations,
the time inside a loop counts twice.

`self_time` returns, for each kind of operation, the time that it spent
itself, which is its duration without that of the events directly inside
it. The kind is the name without the number after the last dot, so
`fusion.12` is a `fusion`.
"""

from collections import Counter


def self_time(events):
    """Return microseconds by kind, a Counter."""
    total = Counter()
    for event in events:  # fix this
        total[event["name"].rpartition(".")[0]] += event["dur"]
    return total


# Judged below: leave this part as it is.


def event(name, start, duration, thread=1):
    return {"name": name, "ts": start, "dur": duration, "tid": thread}


CASES = {
    "one after the other": (
        [event("dot.1", 0, 5), event("fusion.2", 5, 3), event("dot.7", 8, 4)],
        {"dot": 9, "fusion": 3},
    ),
    "a loop with two operations": (
        [event("while.1", 0, 20), event("dot.2", 2, 6), event("add.3", 10, 5)],
        {"while": 9, "dot": 6, "add": 5},
    ),
    "a loop in a loop": (
        [
            event("while.1", 0, 20),
            event("while.2", 1, 12),
            event("dot.3", 2, 10),
        ],
        {"while": 10, "dot": 10},
    ),
    "two threads at the same time": (
        [event("while.1", 0, 10), event("dot.2", 1, 5, thread=2)],
        {"while": 10, "dot": 5},
    ),
    "events in no order": (
        [event("dot.2", 2, 6), event("while.1", 0, 20)],
        {"while": 14, "dot": 6},
    ),
    "a name without a number": (
        [event("copy", 0, 3), event("copy.1", 3, 2)],
        {"copy": 5},
    ),
    "one that ends where the next begins": (
        [event("while.1", 0, 4), event("dot.1", 4, 4)],
        {"while": 4, "dot": 4},
    ),
}
for case, (events, expected) in CASES.items():
    found = {name: time for name, time in self_time(events).items() if time}
    assert found == expected, f"{case}: found {found}, expected {expected}"
print("each microsecond is counted once in", len(CASES), "traces")
