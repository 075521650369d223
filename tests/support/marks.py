"""Records which tests reach which places in the program, and the duration of each test.

It is a pytest plugin for `mutants.py`. A mark is a call of `mark` inside an expression, which runs
this file wherever the program runs, even with an empty environment or from a zip file in another
process. So it imports only `os`, and a process without the name of a test looks for it at its
parent processes. Each note is a line of three fields: the number of a mark, the test, and its
phase; or `ended`, the test, and its phase and seconds.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOTES = "TPUSTARTER_MARKS"
"""Environment variable with the path of the notes; files next to it name each worker's test."""
_noted: set[tuple[int, str | None]] = set()


def _write(path: str, text: str, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _read(path: str) -> str:
    """Return the text of a small file, or an empty string if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 4096).decode(errors="replace")
    finally:
        os.close(descriptor)


def _test(notes: str) -> str:
    """Return the running test with its phase, from the environment or else from a parent worker."""
    name, process = os.environ.get("PYTEST_CURRENT_TEST"), os.getpid()
    while not name and process:
        name = _read(f"{notes}.{process}")
        state = _read(f"/proc/{process}/stat").rpartition(")")[2].split()
        process = int(state[1]) if state else 0
    return name or "unknown (call)"


def mark(notes: str, number: int) -> None:
    """Record that a test has reached this place, once per test and process."""
    key = (number, os.environ.get("PYTEST_CURRENT_TEST"))
    if key not in _noted:
        _noted.add(key)
        test, _, phase = _test(notes).rpartition(" ")
        _write(notes, f"{number}\t{test}\t{phase}\n", os.O_APPEND)


def pytest_runtest_logstart(nodeid: str) -> None:
    """Store the name of the test for processes whose environment lacks it."""
    _write(f"{os.environ[NOTES]}.{os.getpid()}", f"{nodeid} (call)", os.O_TRUNC)


def pytest_runtest_logreport(report: Any) -> None:
    """Record the duration of a test, unless the report comes from a worker."""
    if not hasattr(report, "node") and report.outcome == "passed":
        line = f"ended\t{report.nodeid}\t{report.when} {report.duration:.3f}\n"
        _write(os.environ[NOTES], line, os.O_APPEND)
