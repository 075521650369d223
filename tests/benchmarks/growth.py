"""The quick JAX level on 1, 8 and 64 virtual CPU devices: time and memory, against 1 device.

    python tests/benchmarks/growth.py PYTHON [--repeat N] [--devices 1,8,64]

PYTHON has jax; this script runs where tpustarter is installed. Memory is the most that one process
of a run held. All devices share this machine's cores, so work that each device does by itself
grows with their number here, and would not on a TPU.

Until December 2026 `jax.devices_visible` compiled its program for each device, 1.7 s of processor
time on 64, and `jax.host_transfers` held four copies of all arrays, which glibc then kept. What
still grows on 64: 0.7 s in `all_to_all`, whose device threads wait for each other on two cores, 0.6
in `meshes`, which compiles eight programs instead of four, 0.5 in `host_transfers` and 0.4 in
`math_functions`, whose numbers grow with the devices; and memory, as each virtual device has its
own copy of arguments (256 MB in `reductions`), results (200 MB) and arrays sent (280 MB).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

MEASURED = (
    "import resource, subprocess, sys\n"
    "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    "sys.stdout.flush(); sys.stdout.buffer.write(done.stdout)\n"
)
"""Runs a command, and prints the KiB its largest process held before what it printed."""


def run(python: Path, devices: int) -> tuple[float, float, list[tuple[str, float]]]:
    """Return the seconds and the GiB of one run, and the seconds of each check."""
    command = [
        sys.executable,
        "-m",
        "tpustarter",
        "check",
        "jax.*",
        "--json",
        "--python",
        str(python),
        "--devices",
        str(devices),
    ]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        env={**os.environ, "JAX_PLATFORMS": ""},
        stdout=subprocess.PIPE,
        check=True,
    )
    seconds = time.perf_counter() - began
    kib, _, document = done.stdout.partition(b"\n")
    report = json.loads(document)
    bad = [one["id"] for one in report["results"] if one["status"] not in ("pass", "skip")]
    if bad:
        raise SystemExit(f"with {devices} devices these do not hold: {', '.join(bad)}")
    return seconds, int(kib) / 2**20, [(one["id"], one["seconds"]) for one in report["results"]]


def main() -> None:
    """Print medians, ratios to one device, and the checks that grow most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--devices", default="1,8,64")
    asked = parser.parse_args()
    counts = [int(one) for one in asked.devices.split(",")]
    runs = {count: [run(asked.python, count) for _ in range(asked.repeat)] for count in counts}
    first = [statistics.median(one[part] for one in runs[counts[0]]) for part in (0, 1)]
    print(f"{'devices':>7} {'seconds':>9} {'x first':>8} {'GiB':>7} {'x first':>8}  slowest checks")
    for count, measured in runs.items():
        seconds, gib = (statistics.median(one[part] for one in measured) for part in (0, 1))
        slowest = sorted(measured[-1][2], key=lambda one: -one[1])[:3]
        named = ", ".join(f"{name} {took:.1f}" for name, took in slowest)
        print(
            f"{count:>7} {seconds:>9.2f} {seconds / first[0]:>8.2f} {gib:>7.2f} "
            f"{gib / first[1]:>8.2f}  {named}"
        )


if __name__ == "__main__":
    main()
