"""Which lines are errors at all? Look for the form of a line first: a time,
a level and a text.

`re.match(r"(\\d\\d:\\d\\d:\\d\\d) (ERROR|FATAL) (.*)", line)` is None for all
other lines.

Collect tuples `(is_echo, time, host, text)`. Because False sorts before
True, the smallest tuple is the earliest cause, or the earliest echo if
there is no cause.

Learned: The earliest error that is no echo names the host that failed
first, and the messages of the others follow from it.
"""

import re

ECHOES = ("heartbeat timeout", "another task died")
LINE = re.compile(r"(\d\d:\d\d:\d\d) (ERROR|FATAL) (.*)")


def first_error(logs):
    """Return `(host, text)` of the cause, or None without an error.

    `logs[host]` is the list of the lines of one host.
    """
    errors = []
    for host, lines in enumerate(logs):
        for line in lines:
            match = LINE.match(line)
            if match:
                time, _, text = match.groups()
                is_echo = any(echo in text for echo in ECHOES)
                errors.append((is_echo, time, host, text))
    if not errors:
        return None
    _, _, host, text = min(errors)
    return host, text
