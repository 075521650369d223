"""Count the collectives in the text of a compiled program."""

import re
from collections import Counter

NAMES = (
    "all-gather|all-reduce|all-to-all|collective-broadcast|"
    "collective-permute|ragged-all-to-all|reduce-scatter"
)


def count_collectives(text):
    """Return how many collectives of each name a compiled program has.

    The TPU compiler can split a collective into a start and a done, or into
    a chain of steps that it fuses with computation. A chain counts once. It
    writes most reduce-scatters as an all-reduce inside a computation that is
    called `all-reduce-scatter`.
    """
    found = set()
    computation = ""
    for line in text.splitlines():
        if line.endswith("{"):
            computation = line
        match = re.search(rf" ({NAMES})(?:-start)?\(", line)
        if match:
            name = match[1]
            if computation.startswith("%all-reduce-scatter"):
                name = "reduce-scatter"
            chain = re.search(r"channel_id=\d+.*chain_id=\"\d+\"", line)
            found.add((name, chain[0] if chain else line))
    return dict(sorted(Counter(name for name, _ in found).items()))
