"""How a run on all hosts grows with them: seconds and memory, beside a run of one host.

    python tests/benchmarks/slice_growth.py [--hosts 1,2,4,8,16] [--devices 4] [ID ...]

All hosts are on this machine, so what grows is mostly the work that its cores share; on a slice
each host has its own. Memory is that of the largest process of all.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.slice_hosts import started

IDS = ("jax.slice_*",)


def main() -> None:
    """Print a row for each number of hosts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", default="1,2,4,8,16")
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("ids", nargs="*", default=IDS)
    options = parser.parse_args()
    first = 0.0
    print("hosts  devices  seconds  x one host  s per added host  largest process, MiB  verdict")
    for count in map(int, options.hosts.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            with started(
                Path(folder), [{}] * count, *options.ids, devices=options.devices
            ) as hosts:
                report = hosts.report()
            seconds = time.monotonic() - began
        first = first or seconds
        added = (seconds - first) / (count - 1) if count > 1 else 0.0
        mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{count:5}  {count * options.devices:7}  {seconds:7.1f}  {seconds / first:10.2f}"
            f"  {added:16.1f}  {mib:20.0f}  {report['verdict']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
