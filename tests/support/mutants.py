"""Breaks the program in small ways, one at a time, and tells which of them the tests notice.

    python -m tests.support.mutants --coverage FILE [--seed 34] [--each 4] [--table FILE]

FILE is what `coverage` wrote with a context for each test: of a line, only the tests that run it
are tried, and they end at the first that fails. Rows that the table has are not tried again. To
compare the tests of two commits, `--since COMMIT` leaves out files that differ, and in the other
checkout `--like TABLE` takes the same mutants.
"""

from __future__ import annotations

import argparse
import ast
import csv
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

from tests.support.places import REPOSITORY

COLUMNS = ("mutant", "tests", "ended", "seconds", "killed_by")
SWAPPED = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.And: "or",
    ast.Or: "and",
}
LONGEST_S = 900
"""Tests that take longer are told as ended by the limit: the mutant made the program hang."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """One place of one file, and what stands there instead."""

    file: str
    line: int
    column: int
    was: str
    is_now: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column} {self.was} -> {self.is_now}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Yield what can be broken in a file, in one line each."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(ops=[operator], left=left, comparators=[right]):
                between = (left, right, operator)
            case ast.BinOp(op=operator, left=left, right=right):
                between = (left, right, operator)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                between = (left, right, operator)
            case ast.UnaryOp(op=ast.Not(), operand=operand) if operand.lineno == node.lineno:
                yield Mutant(file, node.lineno, node.col_offset, "not ", "")
                continue
            case ast.Constant(value=bool(value)):
                yield Mutant(file, node.lineno, node.col_offset, str(value), str(not value))
                continue
            case ast.Constant(value=int(value)):
                was = ast.get_source_segment(source, node) or ""
                yield Mutant(file, node.lineno, node.col_offset, was, str(value + 1))
                continue
            case ast.Return(value=ast.expr() as value) if value.lineno == value.end_lineno:
                was = ast.get_source_segment(source, value) or ""
                if was != "None":
                    yield Mutant(file, value.lineno, value.col_offset, was, "None")
                continue
            case _:
                continue
        left, right, operator = between
        if type(operator) in SWAPPED and left.end_lineno == right.lineno == left.lineno:
            line, start = lines[right.lineno - 1], left.end_col_offset or 0
            was = line[start : right.col_offset].strip(" ()")
            column = line.find(was, start)
            if was and line.isascii():
                yield Mutant(file, right.lineno, column, was, SWAPPED[type(operator)])


def package_of(file: str) -> str:
    """Return the package of a file of the program."""
    parts = file.split("/")
    return parts[1] if len(parts) > 2 else "top"


def tests_of(data: CoverageData, file: str) -> dict[int, set[str]]:
    """Return which tests run each line of a file."""
    contexts = data.contexts_by_lineno(str(REPOSITORY / file))
    return {
        line: {re.sub(r"\|(run|setup|teardown)$| \(\w+\)$", "", one) for one in tests if one}
        for line, tests in contexts.items()
    }


def choose(
    data: CoverageData, seed: int, each: int, changed: list[str]
) -> list[tuple[Mutant, list[str]]]:
    """Choose so many mutants of each package, in lines that tests run."""
    chance = random.Random(seed)
    files = sorted(
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "tpustarter").rglob("*.py")
    )
    files = [file for file in files if file not in changed]
    packages: dict[str, list[str]] = {}
    for file in files:
        packages.setdefault(package_of(file), []).append(file)
    chosen: list[tuple[Mutant, list[str]]] = []
    for names in packages.values():
        wanted = len(chosen) + each
        while len(chosen) < wanted:
            file = chance.choice(names)
            everything = [*mutants_of(file, (REPOSITORY / file).read_text("utf-8"))]
            if not everything:
                continue
            mutant = chance.choice(everything)
            if (tests := tests_of(data, file).get(mutant.line)) and mutant not in dict(chosen):
                chosen.append((mutant, sorted(tests)))
    return chosen


def same_as(table: Path, data: CoverageData) -> list[tuple[Mutant, list[str]]]:
    """Return the mutants of a table, with the tests of this checkout."""
    chosen = []
    for row in read(table):
        place, _, change = row["mutant"].partition(" ")
        file, line, column = place.rsplit(":", 2)
        was, _, is_now = change.partition(" -> ")
        mutant = Mutant(file, int(line), int(column), was, is_now)
        chosen.append((mutant, sorted(tests_of(data, file).get(mutant.line, ()))))
    return chosen


def read(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none where there is no file."""
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def try_mutant(mutant: Mutant, tests: list[str]) -> dict[str, str]:
    """Break the program, run the tests that may notice, and mend it."""
    if not tests:
        return {"mutant": str(mutant), "tests": "0", "ended": "survived"}
    path, began = REPOSITORY / mutant.file, time.monotonic()
    source = path.read_text("utf-8")
    lines = source.splitlines(keepends=True)
    line, end = lines[mutant.line - 1], mutant.column + len(mutant.was)
    lines[mutant.line - 1] = line[: mutant.column] + mutant.is_now + line[end:]
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        path.write_text("".join(lines), "utf-8")
        done = subprocess.run(
            words, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
        killed = FAILED.findall(done.stdout)
        ended = "survived" if done.returncode == 0 else "killed"
    except subprocess.TimeoutExpired:
        killed, ended = [], "hung"
    finally:
        path.write_text(source, "utf-8")
    return {
        "mutant": str(mutant),
        "tests": str(len(tests)),
        "ended": ended,
        "seconds": f"{time.monotonic() - began:.0f}",
        "killed_by": " ".join(killed[:1]),
    }


def main() -> None:
    """Try the mutants that the table does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--coverage", required=True, help="a data file with contexts")
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--each", type=int, default=4, help="mutants of each package")
    parser.add_argument("--since", default="HEAD", help="leave out what has changed since")
    parser.add_argument("--like", type=Path, help="a table whose mutants are tried")
    parser.add_argument("--table", type=Path, default=Path.home() / ".cache/tpustarter-mutants.tsv")
    options = parser.parse_args()
    data = CoverageData(options.coverage)
    data.read()
    if options.like:
        chosen = same_as(options.like, data)
    else:
        words = ["git", "diff", "--name-only", options.since, "--", "tpustarter"]
        changed = subprocess.run(
            words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
        )
        chosen = choose(data, options.seed, options.each, changed.stdout.split())
    tried = {row["mutant"] for row in read(options.table)}
    with options.table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t")
        if not tried:
            writer.writeheader()
        for mutant, tests in chosen:
            if str(mutant) not in tried:
                row = try_mutant(mutant, tests)
                writer.writerow(row)
                file.flush()
                print(f"{row['ended']:<9} {row['mutant']}", flush=True)


if __name__ == "__main__":
    main()
