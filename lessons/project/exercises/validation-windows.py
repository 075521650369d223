"""Cut a text into windows that predict each token once.

Random windows suit training, but a validation loss should count every
token once. `windows` takes a text of n tokens and a length, and returns
int32[count, length + 1]: windows in the order of the text, in which the
last token of one window is the first of the next. Then each token but the
first is the target of exactly one position. Tokens at the end that fill no
whole window are left out. Use no Python loop.
"""

import corpus
import numpy as np


def windows(tokens, length):
    """Return as many windows of `length + 1` tokens as there are."""
    count = len(tokens) // (length + 1)
    return tokens[: count * (length + 1)].reshape(count, -1)  # fix this


# Judged below: leave this part as it is.

for n, length in [(10, 3), (9, 4), (8, 8), (65, 64), (130, 64)]:
    text = np.arange(n, dtype=np.int32) + 3
    found = windows(text, length)
    count = (n - 1) // length
    case = f"{n} tokens in windows of {length} + 1"
    message = f"{case}: found the shape {found.shape}, expected "
    assert found.shape == (count, length + 1), message + str(
        (count, length + 1)
    )
    targets = found[:, 1:].ravel().tolist()
    expected = text[1 : 1 + count * length].tolist()
    message = f"{case}: the targets are {targets[:9]}..., "
    assert targets == expected, f"{message}expected {expected[:9]}..."
    message = f"{case}: a window does not begin with its first input"
    assert np.array_equal(found[:, :-1] + 1, found[:, 1:]), message

_, validation = corpus.load()
found = windows(validation, 64)
print(len(found), "windows,", found[:, 1:].size, "targets of", len(validation))
