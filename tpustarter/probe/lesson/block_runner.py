"""Run a lesson's blocks in this process and one namespace, as if they were one program.

A block's output goes to stdout and stderr as for any program; the child reports how it ended.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import signal
import sys
import traceback
import types
from typing import TextIO

from tpustarter.probe import adapters
from tpustarter.probe.commands import BlockCommand
from tpustarter.probe.events import EndEventFields
from tpustarter.probe.lesson.growing_plots import EmitDrawn, LivePlotWatcher
from tpustarter.probe.lesson.plots import list_drawings

_program = types.ModuleType("__main__")
"""Module with the blocks' definitions; replaces the zip file's `__main__` while they run."""

_IMPORTS = ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>")
"""Files of Python's own frames while it imports a module."""
MOST_LINES = 20
"""Maximum number of a block's lines that are reported for an error."""

_saved_descriptors = {number: os.dup(number) for number in (1, 2)}
"""Copies of the original stdout and stderr descriptors, made before the first block."""


def run_block(command: BlockCommand, emit: EmitDrawn) -> EndEventFields:
    """Run one block. An exception of the block propagates to the caller."""
    name, code = command["file"], command["code"]
    if store := command.get("program_store"):
        adapters.load_lesson_programs(store, command.get("lesson", ""))
    _work_in(command.get("folder", ""))
    program = types.ModuleType("__main__") if command.get("alone") else _program
    sys.modules["__main__"] = program
    # An entry without a modification time is kept, so tracebacks show the lesson's own lines.
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        compiled = compile(code, name, "exec", dont_inherit=True)
        adapters.prepare_devices(command.get("framework"))
        with LivePlotWatcher(command, program.__dict__, emit, command["id"]):
            exec(compiled, program.__dict__)  # noqa: S102  the purpose of this module
    finally:
        signal.signal(signal.SIGINT, before)
        _restore_streams()
    ran_on = adapters.read_started_devices()
    return {
        "outcome": "done",
        "ran_on": ran_on,
        "stored_programs": adapters.take_loaded_count(),
        "drawings": list_drawings(command, program.__dict__),
    }


def _interrupt(number: int, frame: types.FrameType | None) -> None:
    # Like Ctrl-C in a REPL. During an import it ends the process, because a half-imported module
    # would remain and break later blocks.
    while frame:
        if frame.f_code.co_filename in _IMPORTS:
            os._exit(128 + number)
        frame = frame.f_back
    adapters.remove_interrupted_program()
    raise KeyboardInterrupt


def traceback_line_numbers(error: BaseException, file: str) -> list[int]:
    """Return the line numbers of a block in an error's traceback, innermost first."""
    numbers = [
        number
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == file
    ]
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        numbers.append(error.lineno)
    return list(dict.fromkeys(reversed(numbers)))[:MOST_LINES]


def _work_in(folder: str) -> None:
    # A lesson's files are in this folder, and are found by import and by name. An empty name
    # changes nothing.
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
        os.chdir(folder)


def _restore_streams() -> None:
    # A block may have replaced stdout and stderr, but later output must still be seen.
    for number, name in ((1, "stdout"), (2, "stderr")):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            getattr(sys, name).flush()
        os.dup2(_saved_descriptors[number], number)
        try:
            stream: TextIO = getattr(sys, f"__{name}__")
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, detached or deleted
            stream = open(number, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, f"__{name}__", stream)
        setattr(sys, name, stream)
