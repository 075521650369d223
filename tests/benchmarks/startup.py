"""Start-up, in one run, against `tpu-info --version` and `python -c "import jax"`.

    python tests/benchmarks/startup.py ENVIRONMENT [--tpu-info PROGRAM] [--repeat N]

ENVIRONMENT holds tpustarter and jax, and tpu-info unless that is given. Prints medians; asserts
nothing, for machines are noisy. Without libtpu tpu-info starts itself a second time, so the import
of its command line, which every run of it needs, is a row too.
Wanted: `check --list` and `learn` at most 0.25 x tpu-info, `check --level static` 0.6 x.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import usage


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
        runs: dict[str, list[usage.Usage]] = {name: [] for name in commands}
        for _ in range(asked.repeat + 1):  # the first round, which fills caches, does not count
            for name, words in commands.items():
                env = {**os.environ, "TPUSTARTER_HOME": home}
                runs[name].append(usage.run(words, env, check=False))
    usage.print_ratios("command", {name: every[1:] for name, every in runs.items()})


if __name__ == "__main__":
    main()
