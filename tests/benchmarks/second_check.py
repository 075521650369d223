"""A second and a third quick check of JAX against the first, and each with `--fresh`.

    python tests/benchmarks/second_check.py PYTHON [--devices 8] [--repeat 3]

PYTHON has JAX. Each repetition begins with an empty state folder. Wanted: at most 0.6 x the first.

On 8 virtual CPU devices, half of a first check is JAX compiling about 140 programs of some
milliseconds each; what is left is the start of Python and JAX, tracing, and the checks' own NumPy.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import usage


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
    found: dict[str, list[usage.Usage]] = {name: [] for name in runs}
    for _ in range(asked.repeat):
        with tempfile.TemporaryDirectory() as home:
            for name, command in runs.items():
                found[name].append(usage.run(command, {**os.environ, "TPUSTARTER_HOME": home}))
    usage.print_ratios("check", found)


if __name__ == "__main__":
    main()
