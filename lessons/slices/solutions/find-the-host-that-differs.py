"""Compare the hosts index by index. What does a host have at an index that
lies behind the end of its list?

Take `None` for it. `itertools.zip_longest(*calls)` yields, for each index,
the names of all hosts, filled up with `None`.

The majority is `collections.Counter(names).most_common(1)[0][0]`. The hosts
whose name is another one are those that you look for.

Learned: The first collective in which the hosts' logs differ shows which
host took another way, and the others wait exactly there.
"""

from collections import Counter
from itertools import zip_longest


def first_difference(calls):
    """Return `(index, hosts)`, or None if no host differs.

    `calls[host]` is a list of names, such as `["all-reduce", "save"]`.
    """
    for index, names in enumerate(zip_longest(*calls)):
        majority, _ = Counter(names).most_common(1)[0]
        others = [host for host, name in enumerate(names) if name != majority]
        if others:
            return index, others
    return None
