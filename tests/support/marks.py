"""Notes which tests pass which places of the program, and how long each test takes.

A plugin of pytest for `mutants.py`. A mark is a call of `mark` inside an expression, and runs this
file wherever the program runs: also where the environment is empty, and where the program is a zip
in a process of its own. So it imports nothing but `os`, and a process without the name of
a test looks for it at those that started it. The notes are lines of three fields: the number of a
mark, the test, and its phase; or `ended`, the test, its phase and seconds.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOTES = "TPUSTARTER_MARKS"
"""Names the file of the notes; beside it stands, per worker, the test that it runs."""
_noted: set[tuple[int, str | None]] = set()


def _write(path: str, text: str, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _read(path: str) -> str:
    """Return what a small file holds; nothing where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 4096).decode(errors="replace")
    finally:
        os.close(descriptor)


def _test(notes: str) -> str:
    """Return the test that runs, with its phase; that of a worker above where none is named."""
    name, process = os.environ.get("PYTEST_CURRENT_TEST"), os.getpid()
    while not name and process:
        name = _read(f"{notes}.{process}")
        state = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
        process = int(state[1]) if state else 0
    return name or "unknown (call)"


def mark(notes: str, number: int) -> None:
    """Note that a test has come to this place; once per test and process."""
    key = (number, os.environ.get("PYTEST_CURRENT_TEST"))
    if key not in _noted:
        _noted.add(key)
        test, _, phase = _test(notes).rpartition(" ")
        _write(notes, f"{number}\t{test}\t{phase}\n", os.O_APPEND)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Keep the name of the test for processes whose environment does not have it."""
    _write(f"{os.environ[NOTES]}.{os.getpid()}", f"{nodeid} (call)", os.O_TRUNC)


def pytest_runtest_logreport(report: Any) -> None:
    """Note what a test took, unless it was a worker that told this process."""
    if not hasattr(report, "node") and report.outcome == "passed":
        line = f"ended\t{report.nodeid}\t{report.when} {report.duration:.3f}\n"
        _write(os.environ[NOTES], line, os.O_APPEND)
