"""Put each compiler flag into the right variable.

`variables(flags, before)` gets a list of flags, and a dictionary of the
environment variables that are set already. Return a new dictionary: a copy
of `before` with each flag appended to its variable. `--xla_tpu_...`,
`--xla_jf_...` and `--megascale_...` go to `LIBTPU_INIT_ARGS`, all others to
`XLA_FLAGS`.

Keep what a variable holds in front, and separate flags by one space. Leave
out a variable that was not set and gets no flag.
"""

import os
import subprocess
import sys


def variables(flags, before):
    """Return `before` with each flag appended to its variable."""
    return dict(before)  # your code here


# Judged below: leave this part as it is.


def expect(found, expected, what):
    message = f"{what}: found {found!r}, expected {expected!r}"
    assert found == expected, message


four = "--xla_force_host_platform_device_count=4"
tpu = [
    "--xla_tpu_no_such_flag=true",
    "--xla_jf_no_such_flag=1",
    "--megascale_no_such_flag=2",
]
dump = "--xla_dump_hlo_as_text=true"
given = {"XLA_FLAGS": dump, "HOME": "/home/ada"}

made = variables([tpu[0], four, *tpu[1:]], given)
expect(made.get("XLA_FLAGS"), f"{dump} {four}", "XLA_FLAGS")
expect(made.get("LIBTPU_INIT_ARGS"), " ".join(tpu), "LIBTPU_INIT_ARGS")
expect(made.get("HOME"), "/home/ada", "HOME, which is no flag")
before = {"XLA_FLAGS": dump, "HOME": "/home/ada"}
expect(given, before, "`before`, after the call")
expect(variables([], {}), {}, "no flags, no variables")
more = variables(tpu[:1], {"LIBTPU_INIT_ARGS": tpu[1]})
both = {"LIBTPU_INIT_ARGS": f"{tpu[1]} {tpu[0]}"}
expect(more, both, "a TPU flag appended to another one")

program = "import jax; print(jax.device_count())"
cpu = {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "-1"}
env = {**os.environ, **cpu, **made}
run = [sys.executable, "-c", program]
ran = subprocess.run(run, env=env, capture_output=True, text=True)
expect(ran.stdout.strip(), "4", "devices of a program that runs with them")
print("every flag is in the variable that is read for it")
