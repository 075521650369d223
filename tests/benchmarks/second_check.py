"""A second and a third quick check of JAX against the first, and each with `--fresh`.

    python tests/benchmarks/second_check.py PYTHON [--devices 8] [--repeat 3]

PYTHON has JAX. Each repetition begins with an empty state folder. Wanted: at most 0.6 x the first.

On 8 virtual CPU devices, half of a first check is JAX compiling about 140 programs of some
milliseconds each; what is left is the start of Python and JAX, tracing, and the checks' own NumPy.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(words: list[str], home: str) -> tuple[float, float]:
    """Run a command; return its seconds by the clock and of processor time."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    env = {**os.environ, "TPUSTARTER_HOME": home}
    subprocess.run(words, env=env, stdout=subprocess.DEVNULL, check=True)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print medians and their ratios to the first check's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--devices", default="8")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    words = [sys.executable, "-m", "tpustarter", "check", "jax.*", "--python", str(asked.python)]
    words += ["--devices", asked.devices]
    fresh = [*words, "--fresh"]
    runs = {"first": words, "second": words, "third": words, "fresh": fresh}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(asked.repeat):
        with tempfile.TemporaryDirectory() as home:
            for name, command in runs.items():
                found[name].append(measure(command, home))
    first = [statistics.median(column) for column in zip(*found["first"], strict=True)]
    for name, values in found.items():
        clock, processor = (statistics.median(column) for column in zip(*values, strict=True))
        print(
            f"{name:7} {clock:6.1f} s, {clock / first[0]:.2f} x; "
            f"processor {processor:5.1f} s, {processor / first[1]:.2f} x"
        )


if __name__ == "__main__":
    main()
