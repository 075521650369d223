"""The process that imports the framework: takes one command at a time, runs it, says what it saw.

Commands come in on one descriptor and events go out on another, a JSON object a line. stdout and
stderr stay free for the checks and the C++ runtimes beneath them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tpustarter.probe import frameworks
from tpustarter.probe.finding import Finding, clip
from tpustarter.probe.target import Target, set_target, target

STACK_BEFORE_S = 1.0
"""Seconds before the time-out at which the stacks of all threads go to the log."""

Emit = Callable[[Mapping[str, Any]], None]


def main(arguments: list[str]) -> int:
    """Run `child CONTROL EVENTS`: serve commands until the other end closes."""
    control, events = int(arguments[1]), int(arguments[2])
    for descriptor in (control, events):
        os.set_inheritable(descriptor, False)  # noqa: FBT003  nothing a check starts may hold them open

    def emit(event: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(events, json.dumps(event).encode() + b"\n")

    for command in _commands(control):
        if command["do"] == "target":
            _set_target(command)
        elif command["do"] == "versions":
            emit({"event": "versions", **frameworks.versions()})
        elif command["do"] == "check":
            _run_check(command, emit)
    return 0


def _commands(control: int) -> Iterator[dict[str, Any]]:
    with os.fdopen(control, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _set_target(command: dict[str, Any]) -> None:
    fields = {key: value for key, value in command.items() if key not in ("do", "root")}
    set_target(Target(root=Path(command["root"]), **fields))


def _run_check(command: dict[str, Any], emit: Emit) -> None:
    """Run one check; tell its findings as they are seen, then how it ended."""
    limit_s = command["timeout_s"]
    emit({"event": "start", "id": command["id"]})
    faulthandler.dump_traceback_later(max(limit_s - STACK_BEFORE_S, limit_s / 2), file=sys.stderr)
    started = time.monotonic()
    end: dict[str, Any]
    try:
        end = _run(command, emit)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a check raises is its outcome
        traceback.print_exc()
        text = str(error).strip() or "no message"
        end = {"outcome": "exception", "detail": clip(f"{type(error).__name__}: {text}")}
    faulthandler.cancel_dump_traceback_later()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    emit({"event": "end", "id": command["id"], "seconds": time.monotonic() - started, **end})


def _run(command: dict[str, Any], emit: Emit) -> dict[str, Any]:
    framework, needs = command["framework"], command["needs"]
    before = frameworks.settings(framework)
    try:
        module = importlib.import_module("tpustarter.checks." + command["id"])
    except Exception as error:  # noqa: BLE001
        traceback.print_exc()
        return {"outcome": "load", "detail": clip(f"{type(error).__name__}: {error}")}
    unmet = frameworks.unmet(framework, needs)
    if unmet:
        return {"outcome": "unmet", "detail": unmet}
    for finding in module.run():
        if not isinstance(finding, Finding):
            detail = f"`run()` yielded a {type(finding).__name__}, expected a Finding"
            return {"outcome": "protocol", "detail": detail}
        emit({"event": "finding", "id": command["id"], "finding": finding.as_dict()})
    changed = _changes(before, frameworks.settings(framework))
    if changed:
        return {"outcome": "changed", "detail": f"left changed: {changed}"}
    return {"outcome": "done", "ran_on": frameworks.ran_on(framework, virtual=target().virtual)}


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Name the settings that differ, with both values."""
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return ", ".join(
        name if name[0] == "$" else f"{name} {before.get(name)!r} to {after.get(name)!r}"
        for name in names
    )
