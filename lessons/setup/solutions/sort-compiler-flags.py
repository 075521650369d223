"""Ask two questions for each flag. Which variable is it for, and does that
variable hold something already?

`flag.startswith(("--xla_tpu_", "--xla_jf_", "--megascale_"))` answers the
first one, because `startswith` accepts a tuple of prefixes.

Copy the dictionary first. For the second question, `made.get(name)` is
None or empty if nothing is set. Otherwise put a space between the old
value and the flag.

Learned: Flags of the TPU compiler belong in `LIBTPU_INIT_ARGS` and all
others in `XLA_FLAGS`, appended to what is set already.
"""

import os
import subprocess
import sys


def variables(flags, before):
    """Return `before` with each flag appended to its variable."""
    made = dict(before)
    tpu_prefixes = ("--xla_tpu_", "--xla_jf_", "--megascale_")
    for flag in flags:
        for_tpu = flag.startswith(tpu_prefixes)
        name = "LIBTPU_INIT_ARGS" if for_tpu else "XLA_FLAGS"
        made[name] = f"{made[name]} {flag}" if made.get(name) else flag
    return made
