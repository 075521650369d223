"""Every JAX check compiles for a TPU v5e-8, with the real TPU compiler and without a TPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tpustarter
from tpustarter import checks

CHECKS = Path(next(iter(checks.__path__)))
NAMES = sorted(path.stem for path in (CHECKS / "jax").glob("[!_]*.py"))

QUIET = {
    "JAX_PLATFORMS": "cpu",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
}
"""Keeps libtpu quiet, off the chips and off the network."""

COMPILE = """
import importlib, json, sys
import jax
from jax.experimental import topologies
import tpustarter
tpustarter.__path__.append(sys.argv[1])
topology = topologies.get_topology_desc(
    platform="tpu", topology_name="v5e:2x4", chips_per_host_bounds=(2, 4, 1))
compiled = {"devices": len(topology.devices), "kind": topology.devices[0].device_kind}
for name in sys.argv[2:]:
    check = importlib.import_module(f"tpustarter.checks.jax.{name}")
    compiled[name] = {
        title: "T(" in jax.jit(program).lower(*arguments).compile().as_text()  # TPU tiles
        for title, program, arguments in check.programs(topology.devices)
    }
print(json.dumps(compiled))
"""


def python_with_libtpu() -> str:
    """Return an interpreter that has JAX and libtpu, or skip the test."""
    if named := os.environ.get("TPUSTARTER_LIBTPU_PYTHON"):
        return named
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip(
            "The TPU compiler is not installed here: `pip install libtpu`, or set"
            " TPUSTARTER_LIBTPU_PYTHON to a Python that has jax and libtpu."
        )
    return sys.executable


def test_every_check_compiles_for_a_v5e_8(tmp_path: Path) -> None:
    """The programs that run on live devices are accepted for the eight devices of a v5e-8."""
    python = python_with_libtpu()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **QUIET}
    environment["PYTHONPATH"] = str(Path(tpustarter.__file__).parents[1])
    command = [python, "-W", "error", "-c", COMPILE, str(CHECKS.parent), *NAMES]
    run = subprocess.run(
        command,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-2000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert (found.pop("devices"), found.pop("kind")) == (8, "TPU v5 lite")
    assert sorted(found) == NAMES
    assert all(programs and all(programs.values()) for programs in found.values())
