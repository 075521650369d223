"""The quick JAX level on 1, 8 and 64 virtual CPU devices: time and memory, against 1 device.

    python tests/benchmarks/growth.py PYTHON [--repeat N] [--devices 1,8,64]

PYTHON has jax; this script runs where tpustarter is installed. Memory is the most that one process
of a run held. All devices share this machine's cores, so work that each device does by itself
grows with their number here, and would not on a TPU.

Slow until December 2026: `jax.devices_visible` compiled its program for each device, NumPy added
up 134 million integers one by one in `every_device`, bits were copied to be compared, arguments
copied for each device, and glibc kept what 16 arenas had freed, 200 MB in all.
Processor time of 64 devices is now 1.27 times that of one (11.3 and 8.9 s, one pair on a busy
machine), and memory 1.35 times. What still grows: transfers of each device's own arrays (0.6 s, 270
MB), `math_functions` (0.4), and JAX itself: 36 small sharded programs alone take 0.8 s on 64
devices and 0.4 on one, with nothing of ours.
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
