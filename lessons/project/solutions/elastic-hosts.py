"""The gap gives each host rows of its own and shuffles those. What do two
hosts read in step 0, and what does one host?

Make the order of all rows first, and give each host its part of that order.

`rows.seed(0).shuffle().repeat()` is an endless order that all hosts agree
on. Slice it with `[host::hosts]`, and batch what is left.

Learned: If the order is made before it is split among hosts, a run can
continue with another number of hosts and still see each example once.
"""

import grain
import numpy as np


def of_host(rows, batch, host, hosts):
    """Return the batches of one host."""
    ordered = rows.seed(0).shuffle().repeat()
    return ordered[host::hosts].batch(batch // hosts)
