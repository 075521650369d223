"""Merge the most common pair of tokens into a new one.

Tokenizers such as those of GPT and Llama are made by byte-pair encoding:
again and again, the pair of neighbours that occurs most often becomes a
token of its own. Write `merge(tokens, pair, new)`, which returns the list
of tokens with each occurrence of the pair replaced by the number `new`.
Go from left to right. A token is a part of one pair at most, so merging
(7, 7) in 7 7 7 gives `new` and 7.
"""

from collections import Counter
from itertools import pairwise

import corpus


def merge(tokens, pair, new):
    """Return `tokens`, a list, with `pair` replaced by `new`."""
    merged = []
    for first, second in pairwise(tokens):
        merged.append(new if (first, second) == pair else first)
    return merged  # your code here


# Judged below: leave this part as it is.

CASES = [
    ([1, 2, 3], (1, 2), [9, 3]),
    ([3, 1, 2], (1, 2), [3, 9]),
    ([7, 7, 7], (7, 7), [9, 7]),
    ([7, 7, 7, 7], (7, 7), [9, 9]),
    ([1, 2, 1, 2, 1], (1, 2), [9, 9, 1]),
    ([5], (5, 5), [5]),
    ([], (1, 2), []),
]
for tokens, pair, expected in CASES:
    found = list(merge(list(tokens), pair, 9))
    message = f"{pair} in {tokens}: found {found}, expected {expected}"
    assert found == expected, message

texts = {token: chr(token) for token in range(128)}
_, validation = corpus.load()
tokens = validation.tolist()
for new in range(128, 168):
    pairs = Counter(pairwise(tokens))
    pair = max(pairs, key=lambda one: (pairs[one], one))
    texts[new] = texts[pair[0]] + texts[pair[1]]
    tokens = merge(tokens, pair, new)

decoded = "".join(texts[token] for token in tokens)
message = "after 40 merges, the tokens are no longer the same text"
assert decoded == corpus.decode(validation), message
longest = sorted(texts.values(), key=len)[-3:]
print(f"40 merges: {len(validation) / len(tokens):.2f} characters a token,")
print("the longest tokens are", longest)
