"""Public programs, as they are, rehearsed and compared with calls of the compiler alone.

    python tests/benchmarks/public_rehearsals.py CHECKOUTS PYTHON [FILE ...] [--tpu v5e-8]

CHECKOUTS has the repositories of `public_programs/programs.yml`, each as `OWNER+NAME` at the commit
that stands there; nothing is vendored or downloaded. PYTHON has jax, libtpu and what the programs
import (`packages` there); this script runs where tpustarter is installed. FILE is one of
`public_programs/`, such as `jax_kernels`, or one function of it, as `language_models:gemma`.
Wanted: each figure equals that of the bare calls.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import usage
import yaml

from tpustarter.machine import tpus
from tpustarter.rehearsal.compile.compiler import QUIET

PROGRAMS = Path(__file__).parent / "public_programs"
GIB = 2.0**30
OUT_OF_MEMORY = "exceeds available HBM"


def check_commits(rows: list[dict[str, Any]], checkouts: Path) -> None:
    """Print the checkouts that are at another commit than the table says."""
    for row in rows:
        folder = checkouts / row["repository"].replace("/", "+")
        command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
        found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        if found != row["commit"]:
            print(f"note: {row['repository']} is at {found or 'no commit'}, not {row['commit']}")


def compare(result: dict[str, Any], bare: dict[str, Any] | None) -> str:
    """Return `equal`, or what differs between the rehearsal and the bare calls."""
    if bare is None:
        return "no bare answer"
    if "memory" in bare and "memory" in result:
        pairs = [(key, result["memory"][key], value) for key, value in bare["memory"].items()]
        wrong = [f"{key} {mine}, bare {theirs}" for key, mine, theirs in pairs if mine != theirs]
        return "; ".join(wrong) or "equal"
    refusal = bare.get("error", "")
    if OUT_OF_MEMORY in refusal and result["status"] == "does-not-fit":
        first = refusal.partition("\n")[0].partition(": ")[2]
        return "equal" if first in result["detail"] else f"bare: {first}"
    return "equal error" if refusal and result["status"] != "compiles" else f"bare: {refusal[:90]}"


def print_program(result: dict[str, Any], bare: dict[str, Any] | None) -> bool:
    """Print the row of one program; return True if its figures equal the bare ones."""
    verdict = compare(result, bare)
    needs = f"{result['hbm_bytes'] / GIB:.3f}" if "hbm_bytes" in result else "-"
    bound = result.get("bound") or {}
    best = f"{1e3 * bound['seconds']:.4g}" if bound.get("seconds") else "-"
    limiter = bound.get("limiter") or "-"
    seconds = f"{result['seconds']:.1f}"
    print(
        f"{result['program'][:46]:<46} {result['status']:<12} {needs:>8} {best:>9} "
        f"{limiter:<12} {seconds:>7}  {verdict}",
        flush=True,
    )
    if result["status"] != "compiles":
        print(f"    {result['reason']}"[:160])
    return verdict.startswith("equal")


def rehearse_file(name: str, asked: argparse.Namespace) -> tuple[int, int, float, float]:
    """Print the rows of one file; return its programs, the equal ones, and both times."""
    stem, _, function = name.partition(":")
    file = f"{PROGRAMS / stem}.py:{function or 'programs'}"
    topology = tpus.find_topology(asked.tpu)
    environment = {**os.environ, **QUIET, "PUBLIC_CHECKOUTS": str(asked.checkouts.absolute())}
    python = str(asked.python)
    given = json.dumps(dict(topology.arguments))
    script = str(PROGRAMS / "bare_compiler.py")
    words = [python, "-W", "ignore", script, file, topology.topology_name, given]
    bare_run = usage.run(words, environment)
    lines = [line for line in bare_run.output.decode().splitlines() if line.startswith("{")]
    bare = {one["program"]: one for one in map(json.loads, lines)}
    command = [sys.executable, "-m", "tpustarter", "rehearse", file, "--tpu", asked.tpu, "--json"]
    options = ["--fresh", "--timeout", "3600", "--python", python, "--compiler", python]
    own_run = usage.run([*command, *options], environment, check=False)
    results = json.loads(own_run.output)["results"]
    own_s, bare_s = own_run.processor_s, bare_run.processor_s
    equal = [print_program(result, bare.get(result["program"])) for result in results]
    print(
        f"{name}: {own_s:.1f} s of processor, {own_s / bare_s:.2f} x the bare calls' {bare_s:.1f}"
    )
    return max(len(equal), len(bare)), sum(equal), own_s, bare_s


def main() -> None:
    """Print a row for each program, and the ratio of the processor times."""
    table = yaml.safe_load((PROGRAMS / "programs.yml").read_text(encoding="utf-8"))
    files = sorted({row["file"] for row in table["repositories"]})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("python", type=Path)
    parser.add_argument("files", nargs="*", metavar="FILE", help=", ".join(files))
    parser.add_argument("--tpu", default="v5e-8")
    asked = parser.parse_args()
    stems = {name.partition(":")[0] for name in asked.files or files}
    rows = [row for row in table["repositories"] if row["file"] in stems]
    check_commits(rows, asked.checkouts)
    print(
        f"{'program for ' + asked.tpu:<46} {'verdict':<12} {'GiB':>8} {'bound ms':>9} "
        f"{'limiter':<12} {'compile':>7}  figures"
    )
    totals = [rehearse_file(name, asked) for name in asked.files or files]
    count, equal, own_s, bare_s = map(sum, zip(*totals, strict=True))
    print(f"\n{equal} of {count} equal the bare calls; {own_s / bare_s:.2f} x their processor time")


if __name__ == "__main__":
    main()
