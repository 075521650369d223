"""Two questions for each flag: which variable is it for? Does that one
hold something already?

`flag.startswith(("--xla_tpu_", "--xla_jf_", "--megascale_"))` answers the
first: `startswith` takes a tuple of beginnings.

Copy the dictionary first. For the second question, `made.get(name)` is
None, or empty, where nothing is set; otherwise put a space between what
is there and the flag.
"""

import os
import subprocess
import sys


def variables(flags, before):
    """Return `before` with each flag added to its variable."""
    made = dict(before)
    of_the_tpu = ("--xla_tpu_", "--xla_jf_", "--megascale_")
    for flag in flags:
        for_tpu = flag.startswith(of_the_tpu)
        name = "LIBTPU_INIT_ARGS" if for_tpu else "XLA_FLAGS"
        made[name] = f"{made[name]} {flag}" if made.get(name) else flag
    return made
