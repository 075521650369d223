"""Growth of a run on all hosts with their number: seconds and memory, host by host.

    python tests/benchmarks/slice_growth.py [--hosts 2,4,8,16] [--devices 4] [ID ...]

All hosts are on this machine, so what grows is mostly the work that its cores share; on a slice
each host has its own. Other programs here take seconds of the clock, and none of the processor.
Memory is that of the largest process of all.
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
LIMIT_S = 3600
"""Seconds that hosts wait for each other, and the benchmark for them."""


def main() -> None:
    """Print a row for each number of hosts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", default="2,4,8,16")
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("ids", nargs="*", default=IDS)
    options = parser.parse_args()
    fewest, first = 0, (0.0, 0.0)
    print("                seconds             per added host      largest process")
    print("hosts  devices  clock    processor  clock    processor  MiB              verdict")
    for count in map(int, options.hosts.split(",")):
        change = {"arguments": {"--wait": LIMIT_S}}
        before, began = _processor_s(), time.monotonic()
        with (
            tempfile.TemporaryDirectory() as folder,
            started(Path(folder), [change] * count, *options.ids, devices=options.devices) as hosts,
        ):
            report = hosts.report(LIMIT_S)
        seconds = (time.monotonic() - began, _processor_s() - before)
        fewest, first = (fewest, first) if fewest else (count, seconds)
        more = max(1, count - fewest)
        added = [(now - then) / more for now, then in zip(seconds, first, strict=True)]
        mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{count:5}  {count * options.devices:7}  {seconds[0]:5.1f}  {seconds[1]:11.1f}"
            f"  {added[0]:5.1f}  {added[1]:11.1f}  {mib:15.0f}  {report['verdict']}",
            flush=True,
        )


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
