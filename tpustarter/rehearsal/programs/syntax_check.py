"""Report syntax errors in the user's file before any of it runs."""

from __future__ import annotations

import ast
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine.machine import cut_text

PARSE = "import ast, sys; ast.parse(open(sys.argv[1], 'rb').read())"
LIMIT_S = 20


def verify_syntax(file: Path, shown: str, find_python: Callable[[], Path]) -> None:
    """Verify the syntax of a file, which is read and not run.

    Syntax that only a newer Python understands is not an error, because the Python that runs the
    file decides.

    Args:
        file: The file; an unreadable one is skipped.
        shown: The file as typed.
        find_python: Returns the Python that will run it; may raise Problem.

    Raises:
        Problem: The file has a syntax error, whose line and column are given.
    """
    mistake = _mistake(file)
    if mistake is None or _understands(find_python(), file):
        return
    where = f"line {mistake.lineno}" if mistake.lineno else "it"
    if mistake.lineno and mistake.offset:
        where += f", column {mistake.offset}"
    line = (mistake.text or "").strip()
    raise Problem(
        f"`{shown}` is no Python: {where}: {mistake.msg}",
        hint=f"mend this line, and press Enter again: `{cut_text(line, 120)}`" if line else None,
        code=ExitCode.USAGE,
    )


def _mistake(file: Path) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the user's own strings
            ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        return error
    except (OSError, ValueError, RecursionError, MemoryError):
        return None
    return None


def _understands(python: Path, file: Path) -> bool:
    # A Python that times out does not count.
    try:
        done = subprocess.run(
            [python, "-I", "-c", PARSE, file.absolute()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
