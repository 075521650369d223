"""Produces the logs of jobs that fail for real, for `tests/samples/worker_logs`.

    python -m tests.explain.produce_workers FOLDER [--python PATH] [--processes 3] [SCENARIO ...]
    python -m tests.explain.produce_workers FOLDER --other-python PATH other-version

Each scenario starts processes of one JAX job on this machine, one of which fails; the log of each
goes to FOLDER/SCENARIO/worker-N.log. One that still runs after a minute hangs, and is ended. The
Python of the last process may be another, with a JAX of a version that does not fit.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.support.processes import HANG_S

SCENARIOS = (
    "killed-worker",
    "killed-leader",
    "key-error",
    "out-of-memory",
    "ended-early",
    "segmentation-fault",
    "late-start",
    "never-started",
    "same-number-twice",
    "another-value",
    "missing-package",
    "other-coordinator",
    "uneven-batches",
)
PROGRAM = """\
import os, signal, sys, time
scenario, index, processes, port = sys.argv[1], *map(int, sys.argv[2:])
fails = index == (0 if scenario == "killed-leader" else processes - 1)
if fails and scenario == "late-start":
    time.sleep(25)  # longer than the others wait
if fails and scenario == "never-started":
    sys.exit()
if fails and scenario == "missing-package":
    import flax_nope
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec
jax.config.update("jax_cpu_collectives_implementation", "gloo")
number = 0 if fails and scenario == "same-number-twice" else index
address = port + 1 if fails and scenario == "other-coordinator" else port
limits = {"initialization_timeout": 15}
if jax.__version__ >= "0.7":
    limits["heartbeat_timeout_seconds"] = 10
jax.distributed.initialize(f"localhost:{address}", processes, number, **limits)
print("worker", index, "of", jax.process_count(), len(jax.devices()), flush=True)
rows = NamedSharding(jax.make_mesh((jax.device_count(),), ("d",)), PartitionSpec("d"))
x = jax.make_array_from_process_local_data(rows, np.ones((2, 8), np.float32))
step = jax.jit(lambda x: (x * 2.0).sum())
if scenario == "another-value":
    value = np.float32(index if fails else 0)
    multihost_utils.assert_equal(value, "the learning rates differ")
data = {number: number for number in range(40)}
for number in range(5 if fails and scenario == "uneven-batches" else 40):
    if fails and number == 6:
        if scenario.startswith("killed"):
            os.kill(os.getpid(), signal.SIGKILL)
        if scenario == "segmentation-fault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if scenario == "key-error":
            del data[6]
        if scenario == "out-of-memory":
            jnp.zeros((1 << 33,), jnp.float32).block_until_ready()
        if scenario == "ended-early":
            sys.exit(3)
    y = step(x * data[number])
    print("step", number, float(y), flush=True)
    time.sleep(0.1)  # a step of a real program takes as long
print("done", flush=True)
"""


def produce(folder: Path, scenario: str, pythons: list[str]) -> list[int]:
    """Run a scenario with a Python for each process, and return how each ended, as a shell does."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    env = os.environ | {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    running: list[subprocess.Popen[bytes]] = []
    for index, python in enumerate(pythons):
        with (folder / f"worker-{index}.log").open("wb") as log:
            own = ["bash", "-c", '"$0" "$@"; exit $?', python, "-c", PROGRAM, scenario]
            own += map(str, (index, len(pythons), port))
            running.append(
                subprocess.Popen(own, env=env, stdout=log, stderr=log, start_new_session=True)
            )
    end = time.monotonic() + HANG_S / 2
    for process in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0, end - time.monotonic()))
    for process in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return [process.wait() for process in running]


def main() -> None:
    """Produce the scenarios that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--other-python")
    options = parser.parse_args()
    pythons = [options.python] * (options.processes - 1) + [options.other_python or options.python]
    for scenario in options.scenarios:
        codes = produce(options.folder / scenario, scenario, pythons)
        print(scenario, *codes, flush=True)


if __name__ == "__main__":
    main()
