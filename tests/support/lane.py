"""Runs the checks of one framework in one Python, and prints the figures of a lane.

    python -m tests.support.lane FRAMEWORK PYTHON [--devices N] [--level quick]

These are versions, numbers of checks run, passed and skipped with the reason, devices, time, peak
memory of one process, and disk space of the Python's environment. The exit code is that of the
checks; `--may-verify-nothing` turns 5 into 0, for a machine without a device of this framework.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def figures(report: dict[str, Any], python: str) -> list[str]:
    """Return the lines with the figures of a run of checks."""
    versions = report["target"]["frameworks"]
    named = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    skipped = Counter(
        f"skipped: {result['reason']}, {result['detail']}"
        for result in report["results"]
        if result["status"] == "skip"
    )
    bad = [
        f"{result['status']}: {result['id']} {result['detail']}"
        for result in report["results"]
        if result["status"] in ("fail", "error", "notrun")
    ]
    environment = Path(python).parents[1]
    disk = subprocess.run(["du", "-sm", environment], capture_output=True, text=True, check=True)
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    disk_gib = int(disk.stdout.split()[0]) / 1024
    where = f"{report['target']['devices']} devices, verified on {report['verified_on']}"
    counts = ", ".join(f"{count} {status}" for status, count in report["counts"].items() if count)
    return [
        f"python {report['target']['python_version']}: {named}",
        f"{len(report['results'])} checks: {counts}; {where}",
        *(f"{count} {text}" for text, count in skipped.items()),
        *bad,
        f"{report['seconds']:.0f} s, largest process {peak_mib} MiB, {disk_gib:.1f} GiB of disk",
    ]


def main() -> int:
    """Run the checks, print the figures, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework")
    parser.add_argument("python")
    parser.add_argument("--devices", default="4")
    parser.add_argument("--level", default="quick")
    parser.add_argument("--may-verify-nothing", action="store_true")
    options = parser.parse_args()
    command = [
        sys.executable,
        "-m",
        "tpustarter",
        "check",
        f"{options.framework}.*",
        "--json",
        "--python",
        options.python,
        "--devices",
        options.devices,
        "--level",
        options.level,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        print(done.stderr)
        return done.returncode or 1
    print("\n".join(figures(json.loads(done.stdout), options.python)), flush=True)
    return 0 if options.may_verify_nothing and done.returncode == 5 else done.returncode


if __name__ == "__main__":
    sys.exit(main())
