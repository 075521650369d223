"""Start-up, as medians in one run, against `tpu-info --version` and `python -c "import jax"`.

    python tests/benchmarks/startup.py ENVIRONMENT [--repeat N]

ENVIRONMENT holds tpustarter, tpu-info and jax. Prints a table; asserts nothing, for machines are
noisy. Wanted: `--version` and `check --list` at most 0.25 x tpu-info, `--level static` 0.6 x.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from pathlib import Path


def median_s(commands: dict[str, list[str]], repeat: int) -> dict[str, float]:
    """Run the commands in turn, so that noise hits all of them; return medians in seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeat + 1):
        for name, words in commands.items():
            began = time.perf_counter()
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(times[1:]) for name, times in seconds.items()}


def main() -> None:
    """Print each command's median and its ratio to the two baselines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--repeat", type=int, default=15)
    asked = parser.parse_args()
    bin_folder = asked.environment / "bin"
    tpustarter = str(bin_folder / "tpustarter")
    commands = {
        "tpu-info --version": [str(bin_folder / "tpu-info"), "--version"],
        'python -c "import jax"': [str(bin_folder / "python"), "-c", "import jax"],
        "tpustarter --version": [tpustarter, "--version"],
        "tpustarter check --list": [tpustarter, "check", "--list"],
        "tpustarter check --level static": [tpustarter, "check", "--level", "static"],
    }
    medians = median_s(commands, asked.repeat)
    tpu_info, jax = medians["tpu-info --version"], medians['python -c "import jax"']
    print(f"{'command':<34} {'median':>9} {'x tpu-info':>11} {'x import jax':>13}")
    for name, seconds in medians.items():
        ratios = f"{seconds / tpu_info:>11.2f} {seconds / jax:>13.2f}"
        print(f"{name:<34} {1000 * seconds:>6.0f} ms {ratios}")


if __name__ == "__main__":
    main()
