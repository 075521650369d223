"""Go through one thread at a time, sorted by start. Which events can contain
the next one?

Keep a stack of the events that have not ended. Before an event is looked
at, those that ended before its start are taken off. What is on top then is
the event directly around it.

Add the duration to the event's own kind, and subtract it from the kind of
the event around it. Sort by start, and longer events first if they start
together.

Learned: Events of a trace are nested, so a sum by name needs the time that
each spent outside the events within it.
"""

from collections import Counter


def kind(name):
    """Return a name without the number after its last dot."""
    before, dot, number = name.rpartition(".")
    return before if dot and number.isdigit() else name


def self_time(events):
    """Return microseconds by kind, a Counter."""
    total = Counter()
    around = []
    ordered = sorted(events, key=lambda e: (e["tid"], e["ts"], -e["dur"]))
    for event in ordered:
        while around and (
            around[-1]["tid"] != event["tid"]
            or around[-1]["ts"] + around[-1]["dur"] <= event["ts"]
        ):
            around.pop()
        total[kind(event["name"])] += event["dur"]
        if around:
            total[kind(around[-1]["name"])] -= event["dur"]
        around.append(event)
    return total
