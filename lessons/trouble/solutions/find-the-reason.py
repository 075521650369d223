"""Go through the lines, and remember whether you have seen
`Traceback (most recent call last):`. The first line after it that doesn't
begin with a space is the error.

`line.partition(": ")[2]` is what follows the name of the exception.

In the rest, `re.search(r"\\b([A-Z_]{2,}): ", rest)` finds the word, and
`rest[match.end():]` is the message.

`re.sub(r" \\(set JAX_PLATFORMS=.*\\)$", "", message)` leaves out the advice.

Learned: The reason is the first line below a traceback that isn't indented,
and not the last line of the output.
"""

import re


def reason(output):
    """Return (word, message) of the first error, or None."""
    in_traceback = False
    for line in output.splitlines():
        if line == "Traceback (most recent call last):":
            in_traceback = True
        elif in_traceback and not line.startswith(" "):
            return parts(line.partition(": ")[2])
    return None


def parts(text):
    """Return (word, message) of the text of an error."""
    text = re.sub(r" \(set JAX_PLATFORMS=.*\)$", "", text)
    match = re.search(r"\b([A-Z_]{2,}): ", text)
    if match is None:
        return None, text
    return match[1], text[match.end() :]
