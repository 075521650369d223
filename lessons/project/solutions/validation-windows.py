"""How many targets does a window of `length + 1` tokens have? And how many
tokens of the text can be a target at all?

The text has n - 1 targets, so there are (n - 1) // length windows. Window
i begins at i * length, one token before its first target.

An array of all indices does it: the starts as a column, plus 0 to length
as a row. By broadcasting the sum has a row of indices for each window.

Learned: Windows that share one token at their boundary predict every token
of a text once, so their mean loss counts each token equally.
"""

import corpus
import numpy as np


def windows(tokens, length):
    """Return as many windows of `length + 1` tokens as there are."""
    count = (len(tokens) - 1) // length
    starts = np.arange(count) * length
    return tokens[starts[:, None] + np.arange(length + 1)]
