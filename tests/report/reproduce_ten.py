"""Ten checks that fail on a broken JAX: whether each reproducer fails the same way.

`python -m tests.report.reproduce_ten [ID ...]` prints a table. The Python in which all of it runs
has JAX and no tpustarter; see `tests/support/broken_jax.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support import broken_jax
from tpustarter.checking.machine_check import CheckRequest, MachineCheck
from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.checking.results import last_failures
from tpustarter.machine import host
from tpustarter.report import reproducers
from tpustarter.report.clean.cleaner import Cleaner
from tpustarter.report.clean.pseudonyms import Pseudonyms
from tpustarter.report.collect import collector
from tpustarter.report.collect.collector import ReportContext


def reproduced(check_id: str, folder: Path) -> tuple[last_failures.SavedFailure, dict[str, Any]]:
    """Break JAX, see the check fail, and return the failure with its section of the report."""
    python = broken_jax.make_python(folder / "venv", check_id)
    assert has_no_tpustarter(python)
    machine = host.Machine()
    check = MachineCheck(CheckRequest((check_id,), python=str(python.path)), machine=machine)
    for _ in check.events():
        pass
    last_failures.save_failures(check.run)
    return last_failures.read_last_failures()[0], told(python, check_id, machine, folder)


def told(python: Interpreter, check_id: str, machine: host.Machine, folder: Path) -> dict[str, Any]:
    """Return the report's facts about the reproducer of a check."""
    context = ReportContext(machine, folder, python)
    section, left_out = collector.run_collector(
        reproducers.make_reproducer_collector((check_id,)),
        context,
        Cleaner(machine.env, Pseudonyms()),
    )
    assert [] == left_out, left_out
    return section.facts["files"][0]


def has_no_tpustarter(python: Interpreter) -> bool:
    """Return whether a Python can't import this program."""
    words = [str(python.path), "-I", "-c", "import tpustarter"]
    return b"ModuleNotFoundError" in subprocess.run(words, capture_output=True, check=False).stderr


def main() -> None:
    """Print a row for each of the ten."""
    same = 0
    wanted = sys.argv[1:] or list(broken_jax.BREAKS)
    for check_id in wanted:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TPUSTARTER_HOME"] = f"{folder}/state"
            failed, row = reproduced(check_id, Path(folder))
        same += row["state"] == "same"
        codes = ", ".join(sorted({str(one["code"]) for one in failed.findings}))
        print(f"{check_id}: {broken_jax.BREAKS[check_id][0]}")
        print(f"  the check: {failed.status} ({codes or failed.detail.splitlines()[0]})")
        print(f"  {row['state']}: {row['says']}")
        for variant in row["variants"]:
            print(f"    {variant['variant']}: {variant['outcome']}")
        print(f"  {row['conclusion']}", flush=True)
    print(f"{same} of {len(wanted)} fail the same way in an environment without tpustarter")


if __name__ == "__main__":
    main()
