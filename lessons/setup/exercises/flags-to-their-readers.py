"""Give each flag to the variable that is read by the part it is for.

`variables(flags, before)` gets a list of flags and a dictionary of variables that are set
already. It returns a new dictionary with all of them, in which the flags are added: those of the
TPU (`--xla_tpu_...`, `--xla_jf_...`, `--megascale_...`) to `LIBTPU_INIT_ARGS`, all others to
`XLA_FLAGS`. Flags are parted by one space; what a variable holds already stays in front.
A variable that gets no flag and was not set is left out.
"""

import os
import subprocess
import sys


def variables(flags, before):
    """Return `before` with each flag added to its variable."""
    return dict(before)  # your code here


# Judged below: leave this part as it is.


def expect(found, expected, what):
    assert found == expected, f"{what}: found {found!r}, expected {expected!r}"


four = "--xla_force_host_platform_device_count=4"
tpu = ["--xla_tpu_no_such_flag=true", "--xla_jf_no_such_flag=1", "--megascale_no_such_flag=2"]
dump = "--xla_dump_hlo_as_text=true"
given = {"XLA_FLAGS": dump, "HOME": "/home/ada"}

made = variables([tpu[0], four, *tpu[1:]], given)
expect(made.get("XLA_FLAGS"), f"{dump} {four}", "XLA_FLAGS")
expect(made.get("LIBTPU_INIT_ARGS"), " ".join(tpu), "LIBTPU_INIT_ARGS")
expect(made.get("HOME"), "/home/ada", "HOME, which is no flag")
expect(given, {"XLA_FLAGS": dump, "HOME": "/home/ada"}, "what you were given, afterwards")
expect(variables([], {}), {}, "nothing in, nothing out")
more = variables(tpu[:1], {"LIBTPU_INIT_ARGS": tpu[1]})
expect(more, {"LIBTPU_INIT_ARGS": f"{tpu[1]} {tpu[0]}"}, "a TPU flag behind another one")

program = "import jax; print(jax.device_count())"
env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "-1", **made}
ran = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
expect(ran.stdout.strip(), "4", "devices of a program that was started with them")
print("every flag reached the part it is for")
