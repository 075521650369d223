"""`tpustarter rehearse` of six checks, cold and from stored answers, against bare compiler calls.

    python tests/benchmarks/rehearsal.py COMPILER [--tpu v5e-8,...] [--all] [--repeat N]

COMPILER is a Python with jax and libtpu; this script runs where tpustarter is installed. The bare
script makes the same topologies and compiles the same programs in one process, one after the
other. Wanted: cold at most 1.1 x, stored at most 2 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tpustarter.core import content
from tpustarter.machine import tpus
from tpustarter.rehearsal.compile.compiler import QUIET
from tpustarter.rehearsal.programs.rehearsal_request import EVERY_GENERATION
from tpustarter.running import probe_archive

SIX = (
    "aliasing",
    "array_conversion",
    "devices_visible",
    "every_device",
    "matmul_precision",
    "narrowing",
)
"""The checks that are compiled unless `--all` is given."""
BARE = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
import jax
from jax.experimental import topologies
for fields in json.loads(sys.argv[2]):
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in fields[1].items()}
    found = topologies.get_topology_desc(platform="tpu", topology_name=fields[0], **arguments)
    for name in json.loads(sys.argv[3]):
        module = importlib.import_module("tpustarter.checks." + name)
        for _, function, arguments in module.programs(found.devices):
            jax.jit(function).lower(*arguments).compile()
"""


def main() -> None:
    """Print the medians and their ratios to the bare script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compiler")
    parser.add_argument("--tpu", default=",".join(EVERY_GENERATION))
    parser.add_argument("--all", action="store_true", help="every check with programs")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    known = [tpus.find_topology(name) for name in asked.tpu.split(",")]
    names = [one.id for one in content.read_checks() if one.has_programs]
    names = names if asked.all else [f"jax.{name}" for name in SIX]
    with tempfile.TemporaryDirectory() as folder:
        probe = probe_archive.build_probe_archive(Path(folder) / "probe.pyz")
        environment = {**os.environ, **QUIET, "TPUSTARTER_HOME": f"{folder}/state"}
        bare = [
            asked.compiler,
            "-c",
            BARE,
            str(probe),
            json.dumps([[one.topology_name, one.arguments] for one in known]),
            json.dumps(names),
        ]
        rehearse = [
            sys.executable,
            "-m",
            "tpustarter",
            "rehearse",
            *names,
            "--tpu",
            asked.tpu,
            "--compiler",
            asked.compiler,
        ]
        commands = {
            "bare compiler calls, one process": bare,
            "rehearse, nothing stored": [*rehearse, "--fresh"],
            "rehearse, nothing stored, --jobs 1": [*rehearse, "--fresh", "--jobs", "1"],
            "rehearse, all answers stored": rehearse,
        }
        found: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(asked.repeat):  # in turn, so that a noisy moment meets all of them
            for name, command in commands.items():
                began = time.monotonic()
                subprocess.run(command, check=True, capture_output=True, env=environment)
                found[name].append(time.monotonic() - began)
    base = statistics.median(found["bare compiler calls, one process"])
    print(f"{len(names)} checks for {asked.tpu}, medians of {asked.repeat}")
    for name, seconds in found.items():
        median = statistics.median(seconds)
        print(
            f"{name:<36} {median:6.2f} s  {median / base:5.2f} x  "
            f"({min(seconds):.2f} to {max(seconds):.2f} s)"
        )


if __name__ == "__main__":
    main()
