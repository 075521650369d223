"""The quick JAX level on 8 virtual devices, against the same bodies inline and `--isolate`.

    python tests/benchmarks/overhead.py PYTHON [--repeat N] [--without-isolate]

PYTHON has jax; this script runs where tpustarter is installed. The inline script imports the same
check files in one bare process and runs their bodies one after the other. Wanted: at most 1.15 x.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tpustarter import content
from tpustarter.running import archive

INLINE = """
import importlib, sys
sys.path.insert(0, {archive!r})
from pathlib import Path
from tpustarter.probe.target import Target, set_target
set_target(Target(platform="cpu", devices=8, virtual=True))
for name in {names!r}:
    for finding in importlib.import_module("tpustarter.checks." + name).run():
        assert finding.verdict != "fail", finding
"""


def main() -> None:
    """Print the medians and their ratios to the inline script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--without-isolate", action="store_true", help="leave the slow one out")
    asked = parser.parse_args()
    checks = [
        one for one in content.read_checks() if one.framework == "jax" and one.level == "quick"
    ]
    names = [one.id for one in sorted(checks, key=lambda one: (len(one.after) < 2, one.id))]
    with tempfile.TemporaryDirectory() as folder:
        probe = archive.build(Path(folder) / "probe.pyz")
        script = Path(folder) / "inline.py"
        script.write_text(INLINE.format(archive=str(probe), names=names))
        command = [
            sys.executable,
            "-m",
            "tpustarter",
            "check",
            "jax.*",
            "--python",
            str(asked.python),
        ]
        commands = {
            "the same bodies inline": [str(asked.python), str(script)],
            "tpustarter check 'jax.*'": command,
            "tpustarter check 'jax.*' --isolate": [*command, "--isolate"],
        }
        if asked.without_isolate:
            commands.popitem()
        env = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(asked.repeat + 1):
            for name, words in commands.items():
                began = time.perf_counter()
                mine = env if "inline" in name else {**os.environ, "JAX_PLATFORMS": ""}
                subprocess.run(words, env=mine, stdout=subprocess.DEVNULL, check=True)
                seconds[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    baseline = medians["the same bodies inline"]
    print(f"{'what':<36} {'median':>8} {'x inline':>9}")
    for name, median in medians.items():
        print(f"{name:<36} {median:>6.2f} s {median / baseline:>9.2f}")


if __name__ == "__main__":
    main()
