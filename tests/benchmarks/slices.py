"""Every slice by name, asked of the TPU compiler: tried, compiled, refused.

    python tests/benchmarks/slices.py COMPILER [--only v5e,v6e] [--slices 2]

COMPILER is a Python with jax and libtpu; this script runs where tpustarter is installed. For each
type that `find_topology` knows, the compiler's devices, processes, slices and HBM are compared with
the table, and a sum over all devices is compiled. `names` are those that `parse_type` understands.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from tpustarter.machine import tpus
from tpustarter.machine.generations import GENERATIONS, Generation
from tpustarter.rehearsal.compile.compiler import QUIET
from tpustarter.running import probe_archive

ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import jax, numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from tpustarter.probe.rehearse import rehearsal
for line in sys.stdin:
    fields = json.loads(line)
    devices = rehearsal._topology_devices(fields, ask=True)
    answer = devices if isinstance(devices, str) else ""
    if not answer:
        mesh = Mesh(numpy.array(devices), ("d",))
        rows = NamedSharding(mesh, PartitionSpec("d"))
        array = jax.ShapeDtypeStruct((8 * len(devices), 128), "float32", sharding=rows)
        try:
            jax.jit(lambda x: x.sum()).lower(array).compile()
        except Exception as error:
            answer = rehearsal.format_compiler_error(error)
    rehearsal._topologies.clear()
    print(json.dumps(answer), flush=True)
"""


def main() -> None:
    """Print each generation's counts, and each name that the compiler refuses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compiler")
    parser.add_argument("--only", help="generations, instead of all")
    parser.add_argument("--slices", type=int, default=1, help="slices of each")
    asked = parser.parse_args()
    rows = [row for row in GENERATIONS if row.counts]
    if asked.only:
        rows = [tpus.find_generation(name) for name in asked.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        probe = probe_archive.build_probe_archive(Path(folder) / "probe.pyz")
        command = [asked.compiler, "-c", ASK, str(probe)]
        environment = {**os.environ, **QUIET}
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment, text=True)
        print(f"{'':6} {'names':>6} {'slices':>7} {'compiled':>9} {'refused':>8} {'seconds':>8}")
        counts = [count_answers(process, row, asked.slices) for row in rows]
        process.communicate()
    print(f"{'all':6} {' '.join(f'{sum(column):>8}' for column in zip(*counts, strict=True))}")


def count_answers(
    process: subprocess.Popen[str], row: Generation, slices: int
) -> tuple[int, int, int]:
    """Return the names that have a slice, that compile, and that are refused; print them."""
    known = [tpus.find_topology(name, slices) for name in tpus.list_rehearsable_types(row)]
    typed, began, refused = len(list_typed_names(row)), time.monotonic(), 0
    for topology in known:
        fields = {**vars(topology), "hbm_bytes": topology.hbm_bytes}
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(fields), file=process.stdin, flush=True)
        if answer := json.loads(process.stdout.readline()):
            refused += 1
            print(f"{topology.name}: {answer}")
    passed_s = time.monotonic() - began
    compiled = len(known) - refused
    print(f"{row.name:6} {typed:6} {len(known):7} {compiled:9} {refused:8} {passed_s:8.1f}")
    return len(known), compiled, refused


def list_typed_names(row: Generation) -> list[str]:
    """Return every name of a type that is understood, whether or not a slice has so many chips."""
    names: list[str] = []
    for number in range(1, 2 * (row.chips_per_pod or 0) + 1):
        with contextlib.suppress(LookupError):
            names.append(tpus.parse_type(f"{row.name}-{number}").name)
    return names


if __name__ == "__main__":
    main()
