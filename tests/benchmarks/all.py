"""Measure every delay that users notice, in ten minutes on two idle cores.

    python tests/benchmarks/all.py PYTHON [--only NAME ...]

PYTHON has jax, and libtpu for the rehearsal; this script runs where tpustarter is installed. A
change is judged by two runs, with and without it, on the same quiet machine. A row that fails is
named, and the others go on.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).parent
BENCHMARKS: dict[str, tuple[str, ...]] = {
    "overhead": ("PYTHON", "--repeat", "3", "--without-isolate"),
    "second_check": ("PYTHON", "--repeat", "2"),
    "growth": ("PYTHON", "--repeat", "2"),
    "paint": ("--repeat", "7"),
    "keys": ("--keys", "100"),
    "one_rehearsal": ("PYTHON", "--repeat", "2", "--only", "program"),
}
"""The arguments of each benchmark; `PYTHON` stands for the interpreter."""


def main() -> int:
    """Run the benchmarks one after the other, and return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=[*BENCHMARKS])
    options = parser.parse_args()
    began, failed = time.monotonic(), []
    for name in options.only:
        words = [options.python if word == "PYTHON" else word for word in BENCHMARKS[name]]
        print(f"== {name} ({time.monotonic() - began:.0f} s)", flush=True)
        done = subprocess.run([sys.executable, str(FOLDER / f"{name}.py"), *words], check=False)
        failed += [name] * (done.returncode != 0)
    print(f"== {time.monotonic() - began:.0f} s; failed: {', '.join(failed) or 'none'}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
