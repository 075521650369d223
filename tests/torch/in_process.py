"""Runs one check in its own process, sabotaged or not, and returns its findings.

SPMD and `launch` change a process for good, so that nothing may be broken and mended in it. Each
process is a copy of one that has imported PyTorch/XLA and has not started it.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import tpustarter
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import Target, set_target

DEVICES = int(os.environ.get("CPU_NUM_DEVICES", "4"))
LIMIT_S = 240
REPOSITORY = Path(__file__).parents[2]


@functools.cache
def original() -> subprocess.Popen[str]:
    """Start the process that is copied."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.torch.in_process"],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)
    return started


def run_check(name: str, sabotage: str = "") -> list[dict[str, Any]]:
    """Return the findings of a check such as `torch_xla.every_device`.

    Args:
        name: Its id.
        sabotage: `module:name`, an entry of that module's SABOTAGE; it is given a MonkeyPatch and
            the check's module before that runs.
    """
    pipes = original()
    assert pipes.stdin
    assert pipes.stdout
    with tempfile.TemporaryDirectory() as folder:
        file, output = Path(folder) / "findings", Path(folder) / "output"
        words = [name, str(file), sabotage, str(output)]
        pipes.stdin.write(f"{json.dumps([dict(os.environ), *words])}\n")
        pipes.stdin.flush()
        ended = pipes.stdout.readline().strip()
        assert file.exists(), f"{name} ended with {ended}: {output.read_text()[-3000:]}"
        return json.loads(file.read_text())


def main(name: str, file: str, sabotage: str) -> None:
    """Run one check, and write its findings as JSON."""
    set_target(Target("cpu", DEVICES, virtual=DEVICES > 1))
    module = importlib.import_module(f"tpustarter.checks.{name}")
    if sabotage:
        table, _, entry = sabotage.partition(":")
        importlib.import_module(table).SABOTAGE[entry](pytest.MonkeyPatch(), module)
    findings = [item.as_dict() for item in module.run() if isinstance(item, Finding)]
    Path(file).write_text(json.dumps(findings))


def run_copies() -> None:
    """Run each check that stdin names in a copy of this process, and print how it ended."""
    importlib.import_module("torch_xla")
    for line in sys.stdin:
        env, *words, output = json.loads(line)
        gc.freeze()  # a collection in a copy would write to all of its memory
        copy = os.fork()
        if not copy:
            os.environ.clear()
            os.environ.update(env)  # PyTorch/XLA reads its variables at their first use
            with Path(output).open("w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            signal.alarm(LIMIT_S)  # which ends it, where it hangs
            main(*words)
            return
        _, status = os.waitpid(copy, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if (
    (REPOSITORY / "checks").is_dir()  # in a wheel, checks/ lies inside the package
    and Path(tpustarter.__file__).parents[1] == REPOSITORY
    and str(REPOSITORY) not in tpustarter.__path__
):
    tpustarter.__path__.append(str(REPOSITORY))  # also in the processes that `launch` spawns

if __name__ == "__main__":
    run_copies()
