"""Paths given as a Python that are no Python or a broken one: each gets its own error and code.

A row is what is named, the exit code, and what must be said; `{}` is the folder of the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import HANG_S

SCRIPTS = {
    "says-nothing": "exit 0",
    "fails": "echo 'no licence found' >&2; exit 7",
    "old": "echo 'Python 3.6'; exit 64",
    "python2": "echo 'Unknown option: -I' >&2; echo 'usage: python [option]' >&2; exit 2",
    "talks": "echo hello; sleep 0.2; echo world",
    "noise": "head -c 3000000 /dev/urandom",
    "is-killed": "kill -9 $$",
    "closes-all": "exec <&- >&- 2>&-; sleep 0.2",
}
NAMED = [
    ("", 2, "`--python`"),
    (" ", 2, "`--python`"),
    ("dir", 2, "there is no program at"),
    ("{}/nothing", 2, "there is no program at"),
    ("{}", 2, "there is no program at"),
    ("~nobody-of-this-name/bin/python", 2, "there is no program at"),
    ("{}/a-file", 2, "there is no program at"),
    ("{}/says-nothing", 78, "did not answer as a Python would: it said nothing"),
    ("{}/fails", 78, "did not answer as a Python would: no licence found"),
    ("{}/old", 78, "is too old: found Python 3.6, expected 3.10 or newer"),
    ("{}/python2", 78, "is Python 2, expected 3.10 or newer"),
    ("{}/talks", 78, "did not answer as a Python would: hello"),
    ("{}/noise", 78, "did not answer as a Python would"),
    ("{}/is-killed", 78, "did not answer as a Python would: it said nothing"),
    ("{}/closes-all", 78, "did not answer as a Python would: it said nothing"),
    ("cat", 78, "did not answer as a Python would: "),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the scripts, each of which may be started."""
    made = tmp_path_factory.mktemp("python")
    (made / "a-file").write_text("print('never run')")
    for name, script in SCRIPTS.items():
        (made / name).write_text(f"#!/bin/sh\n{script}\n")
        (made / name).chmod(0o755)
    return made


def check(python: str, folder: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Check with this Python named."""
    words = [sys.executable, "-I", "-m", "tpustarter", "check", "host.space", "--python", python]
    return subprocess.run(
        words,
        capture_output=True,
        timeout=HANG_S,
        check=False,
        env={**os.environ, **env},
        cwd=folder,
        encoding="utf-8",
        errors="replace",
    )


@pytest.mark.parametrize(("named", "code", "said"), NAMED)
def test_invalid_python_is_named(named: str, code: int, said: str, folder: Path) -> None:
    """An invalid Python is one clear error, with an empty stdout and no other Python instead."""
    (folder / "dir").mkdir(exist_ok=True)  # there is a program of this name on PATH
    done = check(named.format(folder), folder)

    assert (code, "") == (done.returncode, done.stdout)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert all(character.isprintable() or character == "\n" for character in done.stderr)


def test_python_broken_by_pythonhome_names_that_variable() -> None:
    """`PYTHONHOME` breaks every other Python: the fatal error is quoted, and the variable named."""
    python = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
    done = check(python, PYTHONHOME="/nonexistent")

    assert 78 == done.returncode
    assert "Fatal Python error" in done.stderr
    assert "PYTHONHOME is `/nonexistent`" in done.stderr
    assert "`unset PYTHONHOME`" in done.stderr


def test_hanging_python_differs_from_silent_python(folder: Path) -> None:
    """A Python that hangs is stopped at a time limit, and the error quotes what it printed."""
    (folder / "hangs").write_text("#!/bin/sh\necho begun\nexec sleep 1000\n")
    (folder / "hangs").chmod(0o755)
    lines = (
        "import sys\nfrom tpustarter import __main__\nfrom tpustarter.checking.run import runner\n"
        f"runner.START_S = 1.0\nsys.argv[1:] = ['check', '--python', {str(folder / 'hangs')!r}]\n"
        "__main__.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, timeout=HANG_S, check=False
    )

    assert 78 == done.returncode
    assert "hangs: it did not answer within 1 s, and said: begun" in done.stderr
