"""Copies, in which most tests of the command line run: they do what a start of Python does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import copies

SHOWS = (
    "import atexit, os, sys; atexit.register(print, 'end');"
    "print(sys.argv, os.getcwd(), os.environ['SEEN'], sys.stdin.read(), flush=True)"
)


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "tpustarter", "learn"],
        ["-m", "tpustarter", "nonsense"],
        ["-m", "tpustarter", "explain", "-"],
        ["-c", SHOWS, "a", "b"],
        ["-c", f"{SHOWS}; raise SystemExit('a word')"],
        ["-c", f"{SHOWS}; os._exit(7)"],
        ["-c", f"{SHOWS}; 1 / 0"],
        ["-c", f"{SHOWS}; os.kill(os.getpid(), 9)"],
    ],
)
def test_copy_does_what_a_start_does(words: list[str], tmp_path: Path) -> None:
    """The same streams and exit code, for the first copy and for one with its modules imported."""
    command = [sys.executable, *words]
    env = {**os.environ, "SEEN": "yes"}
    log = b"jax.errors.Odd: of a log\n"
    started = subprocess.run(
        command, input=log, capture_output=True, cwd=tmp_path, env=env, check=False
    )

    for _ in range(2):
        copied = copies.run(command, stdin=log, cwd=tmp_path, env=env, text=False)

        assert started.returncode == copied.returncode
        assert started.stdout == copied.stdout
        assert started.stderr.splitlines()[-1:] == copied.stderr.splitlines()[-1:]
