"""Runs one check in a process of its own, broken or not, and hands back what it found.

SPMD and `launch` change a process for good, so that nothing may be broken and mended in it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import tpustarter
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

DEVICES = int(os.environ.get("CPU_NUM_DEVICES", "4"))
LIMIT_S = 240
REPOSITORY = Path(__file__).parents[2]


def run_check(name: str, sabotage: str = "") -> list[dict[str, Any]]:
    """Return the findings of a check such as `torch_xla.every_device`.

    Args:
        name: Its id.
        sabotage: `module:name`, an entry of that module's SABOTAGE; it is given a MonkeyPatch and
            the check's module before that runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "findings"
        words = [sys.executable, "-m", "tests.torch.in_process", name, str(file), sabotage]
        ended = subprocess.run(
            words, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert file.exists(), f"{name} ended with {ended.returncode}: {ended.stderr[-3000:]}"
        return json.loads(file.read_text())


def main(name: str, file: str, sabotage: str) -> None:
    """Run one check, and write its findings as JSON."""
    set_target(Target("cpu", DEVICES, virtual=DEVICES > 1))
    module = importlib.import_module(f"tpustarter.checks.{name}")
    if sabotage:
        table, _, entry = sabotage.partition(":")
        importlib.import_module(table).SABOTAGE[entry](pytest.MonkeyPatch(), module)
    findings = [item.as_dict() for item in module.run() if isinstance(item, Finding)]
    Path(file).write_text(json.dumps(findings))


if (
    (REPOSITORY / "checks").is_dir()  # in a wheel, checks/ lies inside the package
    and Path(tpustarter.__file__).parents[1] == REPOSITORY
    and str(REPOSITORY) not in tpustarter.__path__
):
    tpustarter.__path__.append(str(REPOSITORY))  # also in the processes that `launch` spawns

if __name__ == "__main__":
    main(*sys.argv[1:])
