"""Start-up, in one run, against `tpu-info --version` and `python -c "import jax"`.

    python tests/benchmarks/startup.py ENVIRONMENT [--tpu-info PROGRAM] [--repeat N]

ENVIRONMENT holds tpustarter and jax, and tpu-info unless that is given. Prints the median of the
seconds that passed, and of those that a processor worked, which a busy machine changes less;
asserts nothing, for machines are noisy. Without libtpu tpu-info starts itself a second time, so the
import of its command line, which every run of it needs, is a row too.
Wanted: `check --list` and `learn` at most 0.25 x tpu-info, `check --level static` 0.6 x.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def medians(
    commands: dict[str, list[str]], repeat: int, env: dict[str, str]
) -> dict[str, tuple[float, float]]:
    """Run the commands in turn, so that noise hits all of them; return seconds, and CPU seconds."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeat + 1):  # the first one, which fills caches, does not count
        for name, words in commands.items():
            began, worked = time.perf_counter(), worked_s()
            subprocess.run(
                words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=env
            )
            seconds[name].append((time.perf_counter() - began, worked_s() - worked))
    return {
        name: (statistics.median(wall), statistics.median(cpu))
        for name, (wall, cpu) in (
            (name, zip(*times[1:], strict=True)) for name, times in seconds.items()
        )
    }


def worked_s() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print each command's medians and their ratio to tpu-info."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--tpu-info", type=Path)
    parser.add_argument("--repeat", type=int, default=15)
    asked = parser.parse_args()
    bin_folder = asked.environment / "bin"
    tpustarter, tpu_info = str(bin_folder / "tpustarter"), asked.tpu_info or bin_folder / "tpu-info"
    commands = {
        "tpu-info --version": [str(tpu_info), "--version"],
        "import tpu_info.cli": [str(tpu_info.with_name("python")), "-c", "import tpu_info.cli"],
        "import jax": [str(bin_folder / "python"), "-c", "import jax"],
        "tpustarter --version": [tpustarter, "--version"],
        "tpustarter check --list": [tpustarter, "check", "--list"],
        "tpustarter learn": [tpustarter, "learn"],
        "tpustarter check --level static": [tpustarter, "check", "--level", "static"],
    }
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "TPUSTARTER_HOME": home}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # which only developers set
        measured = medians(commands, asked.repeat, env)
    whole, imported = measured["tpu-info --version"], measured["import tpu_info.cli"]
    heads = ("median", "x tpu-info", "x its import")
    print(
        f"{'command':<32} {heads[0]:>9} {heads[1]:>10} {heads[2]:>12} {'CPU':>9} "
        f"{heads[1]:>10} {heads[2]:>12}"
    )
    for name, times in measured.items():
        columns = [
            f"{1000 * took:>6.0f} ms {took / whole[kind]:>10.2f} {took / imported[kind]:>12.2f}"
            for kind, took in enumerate(times)
        ]
        print(f"{name:<32} {' '.join(columns)}")


if __name__ == "__main__":
    main()
