"""The gap looks at each pair of neighbours, so after a merge it looks at
the second token of the pair again. How far must you move on?

Keep an index. After a pair it moves on by 2, after any other token by 1.
Do not forget the last token, which begins no pair.

`tuple(tokens[i : i + 2]) == pair` is false at the last token by itself.

Learned: Byte-pair encoding shortens a text by giving frequent sequences a
token of their own, and every merge adds one row to the model's table.
"""

from collections import Counter
from itertools import pairwise

import corpus


def merge(tokens, pair, new):
    """Return `tokens`, a list, with `pair` replaced by `new`."""
    merged = []
    i = 0
    while i < len(tokens):
        if tuple(tokens[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(tokens[i])
            i += 1
    return merged
