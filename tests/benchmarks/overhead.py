"""A framework's quick level on virtual devices, against the same bodies inline and `--isolate`.

    python tests/benchmarks/overhead.py PYTHON [--framework torch_xla] [--devices 8] [--repeat N]
        [--without-isolate]

PYTHON has the framework; checks that need a process of their own or a slice are left out, and no
program comes from an earlier run. This script runs
where tpustarter is installed. The inline script imports the same check files in one bare process
and runs their bodies one after the other. Wanted: at most 1.05 x.

With one check of 0.54 s of processor time inline, `tpustarter check` takes 0.90: 0.14 in the
command itself, 0.15 in the two Pythons of the probe before a framework, and 0.07 around the check
in the probe. Over the 10.5 s of all checks this alone is 1.03 x.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import usage

from tpustarter.core import content
from tpustarter.machine import frameworks
from tpustarter.running import probe_archive

INLINE = """
import importlib, sys
sys.path.insert(0, {archive!r})
from pathlib import Path
from tpustarter.probe.target import Target, set_target
set_target(Target(platform="cpu", devices={devices}, virtual=True))
for name in {names!r}:
    for finding in importlib.import_module("tpustarter.checks." + name).run():
        assert finding.verdict != "fail", finding
"""


def main() -> None:
    """Print the medians and their ratios to the inline script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path)
    parser.add_argument("--framework", default="jax", choices=frameworks.FRAMEWORKS)
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--without-isolate", action="store_true", help="leave the slow one out")
    asked = parser.parse_args()
    checks = [
        one
        for one in content.read_checks()
        if (one.framework, one.level, one.own_process) == (asked.framework, "quick", False)
        and one.needs.get("hosts", 1) == 1
    ]
    names = [one.id for one in sorted(checks, key=lambda one: (len(one.after) < 2, one.id))]
    with tempfile.TemporaryDirectory() as folder:
        probe = probe_archive.build_probe_archive(Path(folder) / "probe.pyz")
        script = Path(folder) / "inline.py"
        script.write_text(INLINE.format(archive=str(probe), names=names, devices=asked.devices))
        command = [
            sys.executable,
            "-m",
            "tpustarter",
            "check",
            *names,
            "--fresh",
            "--devices",
            str(asked.devices),
            "--python",
            str(asked.python),
        ]
        commands = {
            "the same bodies inline": [str(asked.python), str(script)],
            "tpustarter check": command,
            "tpustarter check --isolate": [*command, "--isolate"],
        }
        if asked.without_isolate:
            commands.popitem()
        plain = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
        env = plain | frameworks.platform_variables(asked.framework, "cpu", asked.devices, plain)
        runs: dict[str, list[usage.Usage]] = {name: [] for name in commands}
        for _ in range(asked.repeat + 1):
            for name, words in commands.items():
                runs[name].append(usage.run(words, env if "inline" in name else plain))
    usage.print_ratios("what", {name: every[1:] for name, every in runs.items()})


if __name__ == "__main__":
    main()
