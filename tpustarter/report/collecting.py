"""Runs collectors one after the other, each for a bounded time: whatever hangs, there is a report.

A collector reads files in this process, in a thread that nobody waits for longer than that. One
that starts a process bounds and ends that by itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tpustarter.checking.interpreters import Interpreter
from tpustarter.machine import host
from tpustarter.report.cleaning import Cleaner, Unclean
from tpustarter.report.shapes import LeftOut, Shape, admitted

State = Literal["answered", "unanswered", "left out"]


class Unanswered(Exception):  # noqa: N818  what a collector says when it has nothing to tell
    """There is no answer, and why, in words that are cleaned like all others."""


@dataclass
class Context:
    """What collectors look at, and what they leave for those after them."""

    machine: host.Machine
    folder: Path
    """Where the user is."""
    interpreter: Interpreter | None
    """The Python under test; null where there is none."""
    log: Path | None = None
    """What the user gave with `--log`."""
    wait_s: float = 30.0
    """How long a process is asked before it counts as hanging."""
    progress: Callable[[str], None] = lambda _: None
    """Told what is being asked now."""
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    """What one collector found and a later one needs; never told as it is."""


@dataclass(frozen=True)
class Collector:
    """One question to this machine."""

    name: str
    title: str
    collect: Callable[[Context], dict[str, Any]]
    """Returns facts; raises Unanswered."""
    allowed: Mapping[str, Shape]
    """What of it may be told."""
    limit_s: float = 5.0


@dataclass(frozen=True)
class Section:
    """What came of a question."""

    name: str
    title: str
    state: State
    facts: dict[str, Any]
    seconds: float
    why: str = ""
    """Why there is no answer."""


def run(collector: Collector, context: Context, cleaner: Cleaner) -> tuple[Section, list[LeftOut]]:
    """Return what a collector may tell, and what was left out of it."""
    started = time.monotonic()
    box: list[dict[str, Any] | BaseException] = []
    worker = threading.Thread(target=_collect, args=(collector, context, box), daemon=True)
    worker.start()
    worker.join(collector.limit_s)
    seconds = round(time.monotonic() - started, 2)
    one = Section(collector.name, collector.title, "answered", {}, seconds)
    if not box:
        return _unanswered(one, f"no answer within {collector.limit_s:g} s", cleaner)
    answer = box[0]
    if isinstance(answer, Unanswered):
        return _unanswered(one, str(answer), cleaner)
    if isinstance(answer, BaseException):
        return _unanswered(one, f"{type(answer).__name__} while it was asked", cleaner)
    facts, left_out = admitted(answer, collector.allowed, cleaner, f"{collector.name}.")
    if answer and not facts:
        why = "nothing of it could be cleaned"
        return Section(one.name, one.title, "left out", {}, seconds, why), left_out
    return Section(one.name, one.title, "answered", facts, seconds), left_out


def _collect(
    collector: Collector, context: Context, box: list[dict[str, Any] | BaseException]
) -> None:
    try:
        box.append(collector.collect(context))
    except BaseException as error:  # noqa: BLE001  whatever it is, the report goes on without it
        box.append(error)


def _unanswered(one: Section, why: str, cleaner: Cleaner) -> tuple[Section, list[LeftOut]]:
    try:
        why = cleaner.text(why, 3)
    except Unclean:
        why = "the reason could not be cleaned"
    section = Section(one.name, one.title, "unanswered", {}, one.seconds, why)
    return section, [LeftOut(one.name, why)]
