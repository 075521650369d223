"""Runs commands in copies of a process that has imported what earlier commands of gcloud imported.

    PYTHON -S gcloud_copies.py GCLOUD_PY

PYTHON is the one that gcloud runs in, and GCLOUD_PY its program. A start of gcloud takes two
seconds of a core, nineteen twentieths of them for imports. Each line of stdin is a JSON list of a
command's words, its environment, and a file for its output; each line of stdout is an exit code.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import sys

LIMIT_S = 200
PROGRAM = sys.argv[-1]


def run_copy(words: list[str], env: dict[str, str], output: str, modules: int) -> None:
    """Run one command as `gcloud` does, write which modules it has imported, and exit."""
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    signal.alarm(LIMIT_S)  # which ends it, where it hangs
    known, code = {*sys.modules}, 1
    sys.argv = [PROGRAM, *words]
    try:
        runpy.run_path(PROGRAM, run_name="__main__")
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        with os.fdopen(modules, "w") as file:
            json.dump([name for name in sys.modules if name not in known], file)
        sys.stdout.flush()
        os._exit(code)


def run_copies() -> None:
    """Run each command that stdin names, and print how it ended."""
    runpy.run_path(PROGRAM)  # which makes gcloud's own modules importable
    for line in sys.stdin:
        words, env, output = json.loads(line)
        modules, written = os.pipe()
        gc.freeze()  # a collection in a copy would write to all of its memory
        copy = os.fork()
        if not copy:
            run_copy(words, env, output, written)
        os.close(written)
        with os.fdopen(modules) as file:
            imported = json.loads(file.read() or "[]")
        _, status = os.waitpid(copy, 0)
        for name in imported:
            with contextlib.suppress(Exception):  # then the next copy imports it itself
                importlib.import_module(name)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    run_copies()
