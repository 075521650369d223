"""Looks for flaky tests: runs the suite or a lane again and again.

    python -m tests.support.hunt [--lane hostile] [--runs 20] [--busy 4] [--shuffle] [--table FILE]

Each run adds a row to the table: time, commit, seed, load, duration, and failures. Existing rows
count, so a hunt that was stopped resumes.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from tests.support.places import REPOSITORY, TESTS

COLUMNS = (
    "date",
    "commit",
    "lane",
    "busy",
    "shuffle",
    "seed",
    "load",
    "seconds",
    "ended",
    "failed",
)
TABLE = Path.home() / ".cache" / "tpustarter-hunt.tsv"
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def rows(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table, or none if there is no file."""
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def add(table: Path, row: dict[str, str]) -> None:
    """Append a row to a table."""
    is_new = not table.exists()
    table.parent.mkdir(parents=True, exist_ok=True)
    with table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run some busy processes, as load on the machine."""
    endless = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(endless) for _ in range(count)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def command_of(lane: str, seed: int, *, shuffle: bool) -> list[str]:
    """Return the command of the suite, of a folder of tests, or of a lane of the gate."""
    if lane != "suite" and not (TESTS / lane).is_dir():
        return [str(REPOSITORY / ".ci" / "run"), lane]
    where = [] if lane == "suite" else [f"tests/{lane}"]
    order = ["--shuffle"] if shuffle else []
    return [sys.executable, "-m", "pytest", "-q", f"--seed={seed}", *order, *where]


def run(options: argparse.Namespace, commit: str) -> dict[str, str]:
    """Run the suite or lane once, and return its row."""
    seed = random.randrange(10**6) if options.seed is None else options.seed
    began, began_s = datetime.now(timezone.utc), time.monotonic()
    with busy_processes(options.busy):
        done = subprocess.run(
            command_of(options.lane, seed, shuffle=options.shuffle),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    failed = FAILED.findall(done.stdout)
    if done.returncode:
        log = options.table.with_suffix(f".{began:%Y%m%d-%H%M%S}.log")
        log.write_text(done.stdout + done.stderr, encoding="utf-8")
        print(f"its output: {log}", flush=True)
    return {
        "date": f"{began:%Y-%m-%d %H:%M}",
        "commit": commit,
        "lane": options.lane,
        "busy": str(options.busy),
        "shuffle": str(int(options.shuffle)),
        "seed": str(seed),
        "load": f"{os.getloadavg()[1]:.1f}",
        "seconds": f"{time.monotonic() - began_s:.0f}",
        "ended": str(done.returncode),
        "failed": " ".join(failed),
    }


def main() -> int:
    """Run until the table has the requested number of rows of this kind and commit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lane", default="suite", help="`suite`, a folder of tests, or a lane")
    parser.add_argument("--runs", type=int, default=20, help="rows that the table has in the end")
    parser.add_argument("--busy", type=int, default=0, help="processes that are busy beside it")
    parser.add_argument("--shuffle", action="store_true", help="in random order")
    parser.add_argument("--seed", type=int, help="the same for each run; else another each time")
    parser.add_argument("--table", type=Path, default=TABLE)
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    kind = (commit, options.lane, str(options.busy), str(int(options.shuffle)))
    there = [
        row
        for row in rows(options.table)
        if kind == (row["commit"], row["lane"], row["busy"], row["shuffle"])
    ]
    bad = sum(row["ended"] != "0" for row in there)
    for number in range(len(there) + 1, options.runs + 1):
        row = run(options, commit)
        add(options.table, row)
        bad += row["ended"] != "0"
        print(f"{number} of {options.runs}: {row}", flush=True)
    print(f"{options.runs} runs, {bad} with a failure: {options.table}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
