"""Runs commands for the benchmarks: the time and the memory of each, and a table of both.

Processor time is told beside the clock's, because other work on the machine changes it less.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """Resources that one run of a command took, with the processes it started."""

    clock_s: float
    processor_s: float
    gib: float
    """Most memory that one of its processes held."""
    output: bytes
    """Its standard output."""


def run(words: Sequence[str], env: Mapping[str, str], *, check: bool = True) -> Usage:
    """Run a command; with `check`, the benchmark ends if its exit code is not 0."""
    plain = {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(words, env=plain, stdout=out, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if check and process.returncode:
            errors.seek(0)
            last = errors.read().decode(errors="replace")[-2000:]
            sys.exit(f"{' '.join(words)} ended with {process.returncode}:\n{last}")
        out.seek(0)
        processor_s = used.ru_utime + used.ru_stime
        return Usage(seconds, processor_s, used.ru_maxrss / 2**20, out.read())


def print_ratios(title: str, found: Mapping[str, Sequence[Usage]]) -> None:
    """Print the medians of each command's runs, and their ratios to the first command's."""
    print(
        f"{title:<32}{'clock':>9}{'ratio':>7}{'processor':>12}{'ratio':>7}{'memory':>11}{'ratio':>7}"
    )
    rows = {
        name: [statistics.median(getattr(one, part) for one in runs) for part in PARTS]
        for name, runs in found.items()
    }
    first = next(iter(rows.values()))
    for name, row in rows.items():
        clock, processor, gib = (mine / base for mine, base in zip(row, first, strict=True))
        print(
            f"{name:<32}{row[0]:>7.2f} s{clock:>7.2f}{row[1]:>10.2f} s{processor:>7.2f}"
            f"{row[2]:>7.2f} GiB{gib:>7.2f}"
        )


PARTS = ("clock_s", "processor_s", "gib")
