"""Runs the lessons of a path in several Pythons, and prints the results of their blocks.

    python -m tests.support.first_day [--path first-day] PYTHON ...

Each PYTHON has its own JAX; lessons that need a newer one are skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from tpustarter.learning.content.paths import read_paths


def run(lesson: str, python: str) -> dict[str, Any]:
    """Return the JSON document of one lesson, run in one Python."""
    command = [sys.executable, "-m", "tpustarter", "learn", lesson, "--run", "--json"]
    done = subprocess.run([*command, "--python", python], capture_output=True, check=False)
    return json.loads(done.stdout)


def row(document: dict[str, Any]) -> str:
    """Return the results of a lesson in one line."""
    lesson = document["lessons"][0]
    blocks = lesson["blocks"]
    passed = sum(block["status"] == "pass" for block in blocks)
    text = f"{lesson['id']:<26} {passed:>2} of {len(blocks):<2} {document['seconds']:6.1f} s"
    others = [block for block in blocks if block["status"] not in ("pass", "skip")]
    reasons = {block["detail"] for block in blocks if block["status"] == "skip"}
    told = [f"{block['id']}: {block['status']} {block['detail']}" for block in others]
    return "  ".join([text, *told, *(f"skipped: {reason}" for reason in sorted(reasons))])


def main() -> int:
    """Run the path in each Python, and return 1 if a lesson fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", default="first-day")
    parser.add_argument("python", nargs="+")
    options = parser.parse_args()
    path = next(path for path in read_paths() if path.id == options.path)
    is_sound = True
    for python in options.python:
        print(python, flush=True)
        for lesson in path.lessons:
            document = run(lesson, python)
            jax = (document["target"] or {}).get("frameworks", {}).get("jax", "-")
            print(f"  jax {jax:<9} {row(document)}", flush=True)
            is_sound &= document["exit_code"] in (0, 5)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
