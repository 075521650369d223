"""Compares the memory sizes in tables of the project's lessons with the real TPU compiler's.

    python -m tests.support.rehearsed [FILE.py[:FUNCTION] ...]

Compiles the programs behind the tables, prints each lesson's and the compiler's number, and returns
1 if they differ. Without a name it compiles all, which takes some minutes for most files.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tpustarter
from tests.support.real_compiler import python_with_libtpu
from tpustarter.core import content
from tpustarter.learning.content import code_files

ROOT = Path(tpustarter.__file__).parents[1]
UNITS = {"MiB": 2**20, "GiB": 2**30}
DP, FSDP = "rehearse_sizes.py:data_parallel", "rehearse_sizes.py:fsdp"
TP, MIXED = "rehearse_sizes.py:tensor_parallel", "rehearse_sizes.py:mixed_precision"
EXPERTS, PIPELINE = "experts.py", "pipeline.py"
POLICIES, INT8 = "rehearse_policies.py", "quantised.py"


class Cell(NamedTuple):
    """A number in a table, and the program that it describes."""

    lesson: str
    row: str
    """The first cell of its row."""
    column: int
    source: str
    program: str
    tpu: str


_SIZES, _TP = "project/data-parallel-and-fsdp", "project/tensor-parallel"
CELLS = (
    Cell("project/train-it", "the step, state included", 1, DP, "base", "v5e-8"),
    Cell("project/train-it", "the step with `remat`", 1, DP, "base remat", "v5e-8"),
    Cell(_SIZES, "`large`, data parallel", 2, DP, "large remat", "v5e-8"),
    Cell(_SIZES, "`large`, data parallel", 3, DP, "large remat", "v6e-8"),
    Cell(_SIZES, "`large`, FSDP", 2, FSDP, "large FSDP remat", "v5e-8"),
    Cell(_SIZES, "`large`, FSDP", 3, FSDP, "large FSDP remat", "v6e-8"),
    Cell(_TP, "a step, on a v5e of 15.75 GiB", 2, TP, "large TP remat", "v5e-8"),
    Cell(_TP, "a step, on a v5e of 15.75 GiB", 3, TP, "large FSDP and TP remat", "v5e-8"),
    Cell(_TP, "a step, on a v6e of 31.24 GiB", 2, TP, "large TP remat", "v6e-8"),
    Cell(_TP, "a step, on a v6e of 31.24 GiB", 3, TP, "large FSDP and TP remat", "v6e-8"),
    Cell("project/experts-and-pipelines", "whole program", 1, EXPERTS, "experts", "v5e-8"),
    Cell("project/experts-and-pipelines", "whole program", 2, PIPELINE, "16 microbatches", "v5e-8"),
    Cell("project/mixed-precision", "memory", 1, MIXED, "base FSDP float32", "v5e-8"),
    Cell("project/mixed-precision", "memory", 2, MIXED, "base FSDP bfloat16", "v5e-8"),
    *(
        Cell("project/memory", name, column, POLICIES, name, tpu)
        for name in ("everything", "matmuls", "two outputs", "nothing", "inputs on the host")
        for column, tpu in ((1, "v5e-8"), (2, "v6e-8"))
    ),
    Cell("project/int8", "bfloat16", 1, INT8, "bfloat16", "v5e-1"),
    Cell("project/int8", "int8, scaled before the matmul", 1, INT8, "int8_scaled_before", "v5e-1"),
    Cell("project/int8", "int8, scaled after the matmul", 1, INT8, "int8_scaled_after", "v5e-1"),
)


def stated(cell: Cell) -> str:
    """Return the lesson's number, such as `21.89 GiB`."""
    [lesson] = [one for one in content.read_lessons() if one.id == cell.lesson]
    rows = [line.strip("| ").split(" | ") for line in lesson.text.splitlines() if line[:1] == "|"]
    [row] = [row for row in rows if row[0] == cell.row]
    found = re.match(r"[\d.]+ [MG]iB", row[cell.column])
    assert found, row
    return found[0]


def as_stated(amount: int, text: str) -> str:
    """Return a number of bytes in the unit of a text, with the same number of decimals."""
    number, unit = text.split()
    return f"{amount / UNITS[unit]:.{len(number.partition('.')[2])}f} {unit}"


def rehearse(source: str, cells: Sequence[Cell]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the compiler's results for the programs of one file, by name and TPU.

    It runs as for a reader, in a folder with the files that the lesson copies.
    """
    compiler = python_with_libtpu()
    [lesson] = [one for one in content.read_lessons() if one.id == cells[0].lesson]
    tpus = ",".join(sorted({cell.tpu for cell in cells}))
    with tempfile.TemporaryDirectory() as folder:
        code_files.write_code_files(lesson, Path(folder))
        command = [
            sys.executable,
            "-m",
            "tpustarter",
            "rehearse",
            source,
            "--tpu",
            tpus,
            "--json",
            "--compiler",
            compiler,
            "--python",
            compiler,
        ]
        env = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=False
        )
    results = json.loads(done.stdout)["results"]
    return {(one["program"], one["tpu"]): one for one in results}


def compared(source: str) -> Iterator[tuple[Cell, str, str]]:
    """Yield each number about a file's programs, as in the lesson and as from the compiler."""
    cells = [cell for cell in CELLS if cell.source == source]
    results = rehearse(source, cells)
    for cell in cells:
        text = stated(cell)
        result = results[cell.program, cell.tpu]
        amount = result["hbm_bytes"]
        yield cell, text, as_stated(amount, text) if amount else str(result["detail"])


def main(sources: Sequence[str]) -> int:
    """Compare, and return the exit code."""
    differs = False
    for source in sources or sorted({cell.source for cell in CELLS}):
        for cell, text, found in compared(source):
            differs = differs or text != found
            mark = "ok" if text == found else "DIFFERS"
            print(
                f"{mark:8}{cell.lesson}: {cell.program}, {cell.tpu}: {text}, found {found}",
                flush=True,
            )
    return int(differs)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
