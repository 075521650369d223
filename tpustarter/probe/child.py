"""The process that imports the framework: it takes one command at a time and sends events.

Commands arrive on one descriptor and events leave on another, as one JSON object per line. stdout
and stderr stay free for the checks and the C++ runtimes below them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpustarter.machine import frameworks
from tpustarter.probe import adapters, check_needs
from tpustarter.probe.finding import (
    Finding,
    NoAnswer,
    Progress,
    describe_error,
    missing_module_fields,
    shorten_for_json,
)
from tpustarter.probe.target import Target, set_target, target

if TYPE_CHECKING:
    from tpustarter.probe.commands import (
        BlockCommand,
        FinishCommand,
        RunCheckCommand,
        TargetCommand,
        VersionsCommand,
    )
    from tpustarter.probe.events import (
        ChildEndedEvent,
        ChildStartedEvent,
        DrawingsEvent,
        EmitCheckEvent,
        EndEvent,
        EndEventFields,
        VersionsEvent,
    )
    from tpustarter.probe.rehearse.rehearsal_messages import (
        CompileCommand,
        LoadCompilerCommand,
        LowerCommand,
        RehearsalEvent,
        ScriptCommand,
    )
    from tpustarter.probe.slice.messages import (
        BeginSliceCommand,
        CheckCommand,
        CheckFields,
        SliceEvent,
        VerdictCommand,
    )

    ServedCommand = RunCheckCommand | BlockCommand | CompileCommand | LowerCommand | ScriptCommand
    Command = (
        ServedCommand
        | LoadCompilerCommand
        | TargetCommand
        | VersionsCommand
        | FinishCommand
        | BeginSliceCommand
        | VerdictCommand
    )
    ChildEvent = VersionsEvent | DrawingsEvent | RehearsalEvent | SliceEvent
    ProbeEvent = ChildEvent | ChildStartedEvent | ChildEndedEvent
    Emit = Callable[[ChildEvent], None]

STACK_BEFORE_S = 1.0
"""Seconds before the timeout at which all threads' stacks are logged."""

MUCH_MEMORY = 64 * 2**20
"""Bytes that this process holds before it returns freed memory, which takes 1 to 20 ms."""

M_ARENA_MAX = -8
"""The name in C of a setting of `mallopt`."""

JAX_NOTE = "For simplicity, JAX has removed its internal frames"
"""A note that JAX adds below each error of a program, which learners take for part of the error."""

_LOOKS = ("target", "versions")
"""Commands that run neither user code nor a framework."""


def main(arguments: list[str]) -> int:
    """Run `child CONTROL EVENTS`: serve commands until the other end closes."""
    control, events = int(arguments[1]), int(arguments[2])
    for descriptor in (control, events):
        os.set_inheritable(descriptor, False)  # noqa: FBT003  a check's processes must not keep them open

    writing = threading.Lock()  # in a run on several hosts, several threads emit

    def emit(event: ChildEvent) -> None:
        with writing, contextlib.suppress(BrokenPipeError):
            os.write(events, json.dumps(event).encode() + b"\n")

    has_only_looked, status = True, 0
    for command in _commands(control):
        is_of_host = command["do"] == "check" and command["framework"] == "host"
        has_only_looked &= command["do"] in _LOOKS or is_of_host
        code = _obey(command, emit, control)
        status = status if code is None else code
        _return_memory()
    if has_only_looked:  # no device to close, and no user code to finish
        os._exit(0)  # Python's own exit takes 10 ms
    adapters.store_programs()
    return status


def _return_memory() -> None:
    """Return freed memory to the machine after a command, if a framework may have used much.

    After a check of large arrays on 64 devices glibc would keep 400 MB. JAX itself keeps the NumPy
    arrays that its threads have read until the next collection, even of the youngest generation.
    Threads may free more after a check has ended, which is returned after the next one.
    """
    with contextlib.suppress(OSError, AttributeError, ImportError):  # no /proc, another C library
        if _resident_bytes() > MUCH_MEMORY:
            import ctypes  # late, because most runs of `host` checks don't need it

            gc.collect(0)
            ctypes.CDLL(None).malloc_trim(0)


def _share_arenas(framework: str) -> None:
    """Let the threads of virtual devices share two of glibc's arenas, before they start.

    Each arena keeps the end of its heap when its memory is freed: on 64 devices 100 MB in all.
    """
    if framework == "host" or not target().virtual:
        return
    with contextlib.suppress(OSError, AttributeError, ImportError):  # another C library
        import ctypes

        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _obey(command: Command, emit: Emit, control: int) -> int | None:
    # Only a run on several hosts has an exit code.
    if command["do"] == "target":
        _set_target(command)
    elif command["do"] == "versions":
        emit({"event": "versions", **frameworks.read_versions()})
    elif command["do"] == "check":
        _serve(command, emit, partial(_run, command, emit, control))
    elif command["do"] == "block":
        from tpustarter.probe.lesson import block_runner

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ignored between blocks
        _serve(command, emit, partial(block_runner.run_block, command, emit))
    elif command["do"] == "prepare":
        from tpustarter.probe.rehearse import rehearsal

        rehearsal.load_topology(command["topology"])
    elif command["do"] == "slice":
        return _serve_slice(command, emit, control)
    elif command["do"] == "verdict":
        from tpustarter.probe.slice import slice_host

        return slice_host.serve_verdict(command["code"], command["headline"], emit)
    elif command["do"] != "finish":  # the check to finish has already ended
        _serve(command, emit, partial(_rehearse, command, emit))
    return None


def _rehearse(command: CompileCommand | LowerCommand | ScriptCommand, emit: Emit) -> EndEventFields:
    # Another Python than that of the archive's bytecode compiles each module that it imports.
    if command["do"] == "rehearse":
        from tpustarter.probe.rehearse import rehearsal

        return rehearsal.compile_programs(command, emit)
    if command["do"] == "trace":
        from tpustarter.probe.rehearse import user_file

        return user_file.lower_programs(command, emit)
    from tpustarter.probe.rehearse import script

    return script.rehearse_script(command, emit)


def _serve_slice(command: BeginSliceCommand, emit: Emit, control: int) -> int:
    from tpustarter.probe.slice import slice_host

    def run_check(check: CheckFields, emit: EmitCheckEvent) -> None:
        order: CheckCommand = {**check, "do": "check"}
        _serve(order, emit, partial(_run, order, emit, control))

    def read_unreachable() -> list[int]:
        # The program that starts the hosts sends them after this command, one per line.
        hosts: list[int] = []
        with os.fdopen(control, "rb", buffering=0, closefd=False) as lines:
            while select.select([control], [], [], 0)[0] and (line := lines.readline()):
                hosts.append(json.loads(line)["host"])
        return hosts

    return slice_host.serve_slice(command, emit, run_check, read_unreachable)


def _commands(control: int) -> Iterator[Command]:
    # Unbuffered, so that what follows a command stays in the pipe, where `_answered` looks for it.
    with os.fdopen(control, "rb", buffering=0) as lines:
        for line in lines:
            yield json.loads(line)


def _set_target(command: TargetCommand) -> None:
    # Fields of `Target` alone, as `TargetCommand` has them.
    fields: dict[str, Any] = {k: v for k, v in command.items() if k not in ("do", "root")}
    set_target(Target(root=Path(command["root"]), **fields))


def _serve(command: ServedCommand, emit: EmitCheckEvent, run: Callable[[], EndEventFields]) -> None:
    limit_s = command["timeout_s"]
    emit({"event": "start", "id": command["id"]})
    # The thread blocks all signals once it runs. A signal that it gets before then interrupts
    # nothing: a Ctrl-C is lost, and a check's own TERM handler waits for the end of its sleep.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    with contextlib.suppress(RuntimeError):  # without a free thread there is no stack
        faulthandler.dump_traceback_later(max(limit_s - STACK_BEFORE_S, limit_s / 2), file=2)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    started = time.monotonic()
    end: EndEventFields
    try:
        end = run()
    except BaseException as error:  # noqa: BLE001  any exception is its outcome
        _print_traceback(error)
        end = {
            "outcome": "exception",
            "detail": shorten_for_json(describe_error(error)),
            "exception": type(error).__name__,
            **missing_module_fields(error),
        }
        if command["do"] == "block":
            from tpustarter.probe.lesson import block_runner

            end["lines"] = block_runner.traceback_line_numbers(error, command["file"])
    faulthandler.cancel_dump_traceback_later()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    seconds = time.monotonic() - started
    event: EndEvent = {"event": "end", "id": command["id"], "seconds": seconds, **end}
    emit(event)


def _is_ours(frame: types.TracebackType) -> bool:
    return frame.tb_frame.f_globals.get("__name__", "").startswith("tpustarter.probe.")


def _print_traceback(error: BaseException) -> None:
    frames = error.__traceback__
    while frames and _is_ours(frames):
        frames = frames.tb_next
    last = frames if isinstance(error, KeyboardInterrupt) else None
    while last and last.tb_next:
        if _is_ours(last.tb_next):  # frames of stopping a block; its position was printed above
            last.tb_next = None
        last = last.tb_next
    with contextlib.suppress(KeyError, TypeError):  # no notes, or some that cannot be read
        notes = vars(error)  # Python 3.10 has no notes
        notes["__notes__"] = [note for note in notes["__notes__"] if JAX_NOTE not in note]
    with contextlib.suppress(OSError, ValueError):  # a block may have closed the stream
        traceback.print_exception(type(error), error, frames)


def _run(command: RunCheckCommand, emit: EmitCheckEvent, control: int) -> EndEventFields:
    framework = command["framework"]
    unmet = check_needs.find_need_unmet_by_plan(command["needs"])
    if unmet:  # decided before the slow import of a framework
        return {"outcome": "unmet", "detail": unmet}
    _share_arenas(framework)
    try:
        cache = adapters.use_program_store(framework, command.get("program_store"))
        before = adapters.read_configuration(framework)
    except ImportError as error:
        reason = adapters.explain_import_failure(framework, error)
        if reason is None:
            raise
        _print_traceback(error)
        return {"outcome": "exception", "detail": shorten_for_json(reason)}
    try:
        module = importlib.import_module("tpustarter.checks." + command["id"])
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        return {"outcome": "load", "detail": shorten_for_json(describe_error(error))}
    unmet = check_needs.find_unmet_need(framework, command["needs"])
    if unmet:
        return {"outcome": "unmet", "detail": unmet}
    try:
        for item in _answered(module.run(), control):
            if isinstance(item, Finding):
                emit({"event": "finding", "id": command["id"], "finding": item.as_dict()})
            elif isinstance(item, Progress):
                emit(
                    {"event": "progress", "id": command["id"], "text": shorten_for_json(item.text)}
                )
            else:
                detail = f"`run()` yielded a {type(item).__name__}, expected a Finding"
                return {"outcome": "protocol", "detail": detail}
    except NoAnswer as silence:
        return {"outcome": "no-answer", "detail": shorten_for_json(str(silence))}
    changed = _changes(before, adapters.read_configuration(framework))
    if changed:
        return {"outcome": "changed", "detail": f"left changed: {changed}"}
    end: EndEventFields = {"outcome": "done", "ran_on": adapters.read_devices(framework)}
    if cache is not None:
        end["stored_programs"] = cache.take_count()
    return end


def _answered(run: Generator[object, bool | None], control: int) -> Iterator[object]:
    # Each `Progress` is answered with True to end now. Anything readable on `control` ends the
    # check: the command to finish, or a pipe closed because the parent is gone.
    answer: bool | None = None
    with contextlib.suppress(StopIteration):
        while True:
            item = run.send(answer)
            yield item
            answer = None
            if isinstance(item, Progress):
                answer = bool(select.select([control], [], [], 0)[0])


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> str:
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return ", ".join(
        name if name[0] == "$" else f"{name} {before.get(name)!r} to {after.get(name)!r}"
        for name in names
    )
