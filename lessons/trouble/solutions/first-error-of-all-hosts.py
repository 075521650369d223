"""Go through the lines of a host, and keep two things: the last time that you
have seen, and whether you are below the beginning of a traceback.

The times are texts of equal length, so they sort like times. The empty text
"" sorts before all of them.

`min(errors)` compares time, host and then the *text* of the line. If time
and host are equal, the upper line must win, so compare the first two only:
`min(errors, key=lambda error: error[:2])` returns the first of equal ones.

After the error of a traceback you are no longer in it.

Learned: The error to read on a slice is the earliest, and a traceback gets
its time from the line above it.
"""

import re

LINE = re.compile(r"(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d{6}) ")
TRACEBACK_BEGINS = "Traceback (most recent call last):"


def first_error(logs):
    """Return (host, line) of the earliest error, or None."""
    errors = []
    for host, log in logs.items():
        errors += [(time, host, line) for time, line in errors_of(log)]
    if not errors:
        return None
    return min(errors, key=lambda error: error[:2])[1:]


def errors_of(log):
    """Yield the time and the line of each error in a log."""
    time = ""
    in_traceback = False
    for line in log.splitlines():
        match = LINE.match(line)
        if match:
            time = match["time"]
        if line == TRACEBACK_BEGINS:
            in_traceback = True
        elif in_traceback and not line.startswith(" "):
            in_traceback = False
            yield time, line
        elif match and match["level"] in "EF":
            yield time, line
