"""Find the first error of all hosts.

`first_error` gets a dictionary with the log of each host as one text, and
returns `(host, line)` of the earliest error, or None. There are two kinds:

* A line of level E or F, in the form of libtpu's logs. Its time is in it.
* A Python traceback. Its error is the first line below `Traceback (most
  recent call last):` that isn't indented. It has no time of its own, so take
  that of the last line above it that has one, or the beginning of time.

Of two errors at the same time, take that of the host with the lower number,
and within a host the upper one.
"""

import re

LINE = re.compile(r"(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d{6}) ")


def first_error(logs):
    """Return (host, line) of the earliest error, or None."""
    errors = []
    for host, log in logs.items():
        for line in log.splitlines():
            match = LINE.match(line)
            if match and match["level"] in "EF":
                errors.append((match["time"], host, line))  # your code here
    return min(errors)[1:] if errors else None


# Judged below: leave this part as it is.

DIED = "client.h:88] Terminating process because another task died"
FULL = "E1121 10:31:58.000002   80 train.py:41] No space left on device"
TRACEBACK = """\
I1121 10:30:00.000001   81 train.py:40] step 400
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    next(batches)
FileNotFoundError: [Errno 2] gs://data/part-17
F1121 10:33:50.000000   81 """
NEVER_STARTED = """\
starting
Traceback (most recent call last):
  File "train.py", line 1, in <module>
ModuleNotFoundError: No module named 'optax'
"""


def expect(logs, expected, what):
    found = first_error(logs)
    message = f"{what}: found {found!r}, expected {expected!r}"
    assert found == expected, message


dead = {host: f"F1121 10:33:52.08130{host}   77 {DIED}" for host in range(4)}
calm = "I1121 10:30:00.000001   80 train.py:40] 0 errors\nstep 2: Error 0.1"
expect({0: calm, 1: calm}, None, "no error")
expect(dead, (0, dead[0]), "the same error on four hosts")
expect({**dead, 1: f"{calm}\n{FULL}\n{dead[1]}"}, (1, FULL), "a full disk")
warned = FULL.replace("E1121", "W1121")
expect({**dead, 1: warned}, (0, dead[0]), "a warning is not an error")
logs = {**dead, 1: FULL, 2: TRACEBACK + DIED}
missing = "FileNotFoundError: [Errno 2] gs://data/part-17"
expect(logs, (2, missing), "a traceback after step 400, and a full disk")
expect({2: TRACEBACK + DIED}, (2, missing), "that traceback alone")
logs = {**logs, 3: NEVER_STARTED}
missing = "ModuleNotFoundError: No module named 'optax'"
expect(logs, (3, missing), "a host that never started")
two = f"{FULL}\n{FULL.replace('No space', 'Almost no space')}"
expect({3: two, 1: two}, (1, FULL), "two errors at the same time")
print("one earliest error, with and without a time of its own")
