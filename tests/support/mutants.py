"""Breaks the program in small ways, one at a time, and reports the mutants that tests detect.

    python -m tests.support.mutants [--seed 34] [--each 4] [--table FILE] [TESTS ...]

TESTS (by default those of the README's command) run once, with a mark at the place of each mutant.
For a mutant, only the tests that reached its mark run, fastest first, until one fails. The notes of
the marks are kept next to the table, and mutants in the table are not tried again. This changes the
program's files while it runs, so use a separate checkout. To compare the tests of two commits,
`--since COMMIT` leaves out files that differ, and `--like TABLE` in the other checkout takes the
same mutants.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import csv
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import marks
from tests.support.places import REPOSITORY

COLUMNS: tuple[str, ...] = ("mutant", "tests", "ended", "seconds", "killed_by")
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
LONGEST_S = 300
"""Seconds after which tests are killed, because the mutant hangs or there are too many tests."""
MARK = (
    '((getattr(__import__("sys"), "_tpustarter_mark", None) or (lambda names: exec('
    '__import__("pathlib").Path({file!r}).read_text(), names) or __import__("sys").__dict__'
    '.setdefault("_tpustarter_mark", names["mark"]))({{}}))({notes!r}, {number}) or ('
)
"""Prefix of an expression, closed by two brackets; `mark` returns None."""
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A place in a file, and its replacement."""

    file: str
    line: int
    column: int
    was: str
    is_now: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column} {self.was} -> {self.is_now}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """Yield the possible mutants of a file, each within one line."""
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
    """Return the package of one of the program's files."""
    parts = file.split("/")
    return parts[1] if len(parts) > 2 else "top"


def markable_lines(source: str) -> set[int]:
    """Return the lines that run when a function is called, not when a file is imported."""
    markable: set[int] = set()
    nodes = [*ast.walk(ast.parse(source))]
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                markable.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    for node in nodes:  # a pattern holds no expression; places in an f-string are vague before 3.12
        if isinstance(node, ast.pattern | ast.JoinedStr):
            markable -= {*range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(source.splitlines(), start=1)
    return markable & {number for number, line in lines if line.isascii()}


def choose(seed: int, each: int, changed: list[str]) -> list[Mutant]:
    """Choose a number of mutants per package, taking one from each package in turn."""
    chance = random.Random(seed)
    packages: dict[str, list[list[Mutant]]] = defaultdict(list)
    for path in sorted((REPOSITORY / "tpustarter").rglob("*.py")):
        file, source = path.relative_to(REPOSITORY).as_posix(), path.read_text("utf-8")
        lines = markable_lines(source)
        if file not in changed:
            found = [one for one in mutants_of(file, source) if one.line in lines]
            packages[package_of(file)].append(found)
    chosen: dict[Mutant, None] = {}
    for _ in range(each):
        for files in packages.values():
            left = [[one for one in found if one not in chosen] for found in files]
            if left := [found for found in left if found]:
                chosen[chance.choice(chance.choice(left))] = None
    return [*chosen]


def same_as(table: Path) -> list[Mutant]:
    """Return the mutants listed in a table."""
    chosen: list[Mutant] = []
    for row in read(table):
        place, _, change = row["mutant"].partition(" ")
        file, line, column = place.rsplit(":", 2)
        was, _, is_now = change.partition(" -> ")
        chosen.append(Mutant(file, int(line), int(column), was, is_now))
    return chosen


def marked(source: str, places: list[tuple[int, Mutant]], notes: Path) -> str:
    """Return a program file's source with a mark at the place of each mutant."""
    added: list[tuple[int, int, str]] = []
    for number, mutant in places:
        at = (mutant.line, mutant.column)
        around = [
            (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.expr)
            and not isinstance(node, ast.Slice | ast.Starred)
            and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            and (node.lineno, node.col_offset) <= at
            and at < (node.end_lineno or 0, node.end_col_offset or 0)
        ]
        top, left, bottom, right = max(around, key=lambda one: (one[:2], -one[2], -one[3]))
        added += [(bottom, right, "))")]
        added += [(top, left, MARK.format(file=marks.__file__, notes=str(notes), number=number))]
    lines = source.splitlines(keepends=True)
    for row, column, text in sorted(added, reverse=True):
        line = lines[row - 1].encode()
        lines[row - 1] = (line[:column] + text.encode() + line[column:]).decode()
    return "".join(lines)


@contextlib.contextmanager
def changed_files(sources: dict[str, str]) -> Iterator[None]:
    """Replace files of the program, and restore them afterwards."""
    before = {file: (REPOSITORY / file).read_bytes() for file in sources}
    try:
        for file, source in sources.items():
            (REPOSITORY / file).write_bytes(source.encode())
        yield
    finally:
        for file, data in before.items():
            (REPOSITORY / file).write_bytes(data)


def run_marked(chosen: list[Mutant], tests: list[str], notes: Path) -> None:
    """Run the tests once, recording which of them reach the place of each mutant."""
    places: dict[str, list[tuple[int, Mutant]]] = defaultdict(list)
    for number, mutant in enumerate(chosen):
        places[mutant.file].append((number, mutant))
    running = notes.with_suffix(".running")
    sources = {
        file: marked((REPOSITORY / file).read_text("utf-8"), those, running)
        for file, those in places.items()
    }
    early = "ignore::pytest.PytestAssertRewriteWarning"  # the plugin comes before conftest.py
    words = [sys.executable, "-m", "pytest", "-q", "-W", early, "-p", marks.__name__, *tests]
    environment = os.environ | {marks.NOTES: str(running)}
    running.write_text("", "utf-8")
    with changed_files(sources):
        ended = subprocess.run(words, cwd=REPOSITORY, env=environment, check=False).returncode
    if ended > 1:  # 1 if tests failed, which are then not tried
        sys.exit(ended)
    for worker in running.parent.glob(f"{running.name}.*"):
        worker.unlink()
    running.rename(notes)


def tests_by_mark(notes: Path) -> dict[int, list[str]]:
    """Return the passing tests that reach each mark, fastest first.

    If a mark is reached in a test's set-up, which its file may share, all tests of the file count.
    """
    seconds: dict[str, float] = defaultdict(float)
    ended: dict[str, list[str]] = defaultdict(list)
    comes: dict[int, set[str]] = defaultdict(set)
    rows = [line.split("\t") for line in notes.read_text("utf-8").splitlines()]
    for _, test, rest in (row for row in rows if row[0] == "ended"):
        phase, _, took = rest.partition(" ")
        seconds[test] += float(took)
        if phase == "call":
            ended[test.partition("::")[0]].append(test)
    for number, test, phase in (row for row in rows if row[0] != "ended"):
        file = test.partition("::")[0]
        tests = ended[file] if phase == "(setup)" else [one for one in ended[file] if one == test]
        comes[int(number)].update(tests)
    return {
        mark: sorted(those, key=lambda one: (seconds[one], one)) for mark, those in comes.items()
    }


def read(table: Path) -> list[dict[str, str]]:
    """Return the rows of a table, or none if there is no file."""
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def try_mutant(mutant: Mutant, tests: list[str], arguments: Path) -> dict[str, str]:
    """Break the program, run the tests that may detect it, and restore the program."""
    if not tests:
        return {"mutant": str(mutant), "tests": "0", "ended": "no test"}
    began = time.monotonic()
    lines = (REPOSITORY / mutant.file).read_text("utf-8").splitlines(keepends=True)
    line, end = lines[mutant.line - 1], mutant.column + len(mutant.was)
    lines[mutant.line - 1] = line[: mutant.column] + mutant.is_now + line[end:]
    arguments.write_text("\n".join(tests), "utf-8")
    words = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "-p", "no:cacheprovider"]
    with (
        changed_files({mutant.file: "".join(lines)}),
        arguments.with_suffix(".log").open("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(
            [*words, f"@{arguments}"],
            cwd=REPOSITORY,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            ended = "survived" if process.wait(LONGEST_S) == 0 else "killed"
        except subprocess.TimeoutExpired:
            ended = "limit"
            os.killpg(process.pid, signal.SIGKILL)
        log.seek(0)
        killed = FAILED.findall(log.read())
    return {
        "mutant": str(mutant),
        "tests": str(len(tests)),
        "ended": ended,
        "seconds": f"{time.monotonic() - began:.0f}",
        "killed_by": " ".join(killed[:1]),
    }


def main() -> None:
    """Try the mutants that are not in the table yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="for pytest: folders, files")
    parser.add_argument("--seed", type=int, default=34)
    parser.add_argument("--each", type=int, default=4, help="mutants of each package")
    parser.add_argument("--since", default="HEAD", help="leave out what has changed since")
    parser.add_argument("--like", type=Path, help="a table whose mutants are tried")
    parser.add_argument("--table", type=Path, default=Path.home() / ".cache/tpustarter-mutants.tsv")
    options = parser.parse_args()
    if options.like:
        chosen = same_as(options.like)
    else:
        words = ["git", "diff", "--name-only", options.since, "--", "tpustarter"]
        changed = subprocess.run(
            words, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True
        )
        chosen = choose(options.seed, options.each, changed.stdout.split())
    table = options.table.absolute()
    notes = table.with_suffix(".marks")
    if not notes.exists():
        run_marked(chosen, options.tests, notes)
    by_mark = tests_by_mark(notes)
    tried = {row["mutant"] for row in read(table)}
    with table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t")
        if not tried:
            writer.writeheader()
        for number, mutant in enumerate(chosen):
            if str(mutant) not in tried:
                row = try_mutant(mutant, by_mark.get(number, []), table.with_suffix(".args"))
                writer.writerow(row)
                file.flush()
                print(f"{row['ended']:<9} {row['mutant']}", flush=True)


if __name__ == "__main__":
    main()
