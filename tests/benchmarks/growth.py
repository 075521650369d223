"""The quick JAX level on 1, 8 and 64 virtual CPU devices: time and memory, against 1 device.

    python tests/benchmarks/growth.py PYTHON [--repeat N] [--devices 1,8,64]

PYTHON has jax; this script runs where tpustarter is installed. No program comes from an earlier
run. Memory is the most that one process of a run held. All devices share this machine's cores, so
work that each device does by itself grows with their number here, and would not on a TPU.

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
import sys
from pathlib import Path

import usage


def run(python: Path, devices: int) -> tuple[usage.Usage, list[tuple[str, float]]]:
    """Return the time and memory of one run, and the seconds of each check."""
    command = [sys.executable, "-m", "tpustarter", "check", "jax.*", "--json", "--fresh"]
    command += ["--python", str(python), "--devices", str(devices)]
    used = usage.run(command, {**os.environ, "JAX_PLATFORMS": ""})
    report = json.loads(used.output)
    bad = [one["id"] for one in report["results"] if one["status"] not in ("pass", "skip")]
    if bad:
        raise SystemExit(f"with {devices} devices these do not hold: {', '.join(bad)}")
    return used, [(one["id"], one["seconds"]) for one in report["results"]]


def main() -> None:
    """Print medians, ratios to the first number of devices, and the slowest checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--devices", default="1,8,64")
    asked = parser.parse_args()
    counts = [int(one) for one in asked.devices.split(",")]
    runs: dict[str, list[usage.Usage]] = {str(count): [] for count in counts}
    seconds: dict[int, list[tuple[str, float]]] = {}
    for _ in range(asked.repeat):  # in turn, so that a noisy moment meets all of them
        for count in counts:
            used, seconds[count] = run(asked.python, count)
            runs[str(count)].append(used)
    usage.print_ratios("devices", runs)
    for count in counts:
        slowest = sorted(seconds[count], key=lambda one: -one[1])[:3]
        print(f"slowest of {count}:", ", ".join(f"{name} {took:.1f} s" for name, took in slowest))


if __name__ == "__main__":
    main()
