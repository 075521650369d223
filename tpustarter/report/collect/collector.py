"""Runs one collector with a timeout, so that a hung collector cannot block the report.

A collector runs in a thread of this process, which is abandoned on timeout. A collector that starts
a process has to time out and end it itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from tpustarter.checking.plan.interpreters import Interpreter
from tpustarter.checking.results.results import Run
from tpustarter.machine import host
from tpustarter.report.clean.allowed_fields import FieldRule, OmittedFact, select_allowed
from tpustarter.report.clean.cleaner import Cleaner, UncleanText
from tpustarter.report.report_document import ReportSection


class CollectorUnanswered(Exception):  # noqa: N818  it is an outcome, not an error
    """Raised if a collector has no facts; the message, the reason, is cleaned like all texts."""


@dataclass
class SharedFacts:
    """Uncleaned facts that one collector leaves for later ones. No report has them."""

    packages: dict[str, str] | None = None
    """Package versions in the Python under test; None before they were read."""
    checks: Run | None = None
    """The run of the host checks; None if they gave no result."""
    outputs: dict[str, str] = field(default_factory=dict[str, str])
    """Output of each framework's process, keyed by framework."""
    hung: dict[str, str] = field(default_factory=dict[str, str])
    """The step in which a framework hung, keyed by framework."""
    reproduced: list[str] = field(default_factory=list[str])
    """Output of the reproducers."""


@dataclass
class ReportContext:
    """A report's machine and options, and the facts that collectors leave for later ones."""

    machine: host.Machine
    folder: Path
    """The user's current folder."""
    interpreter: Interpreter | None
    """The Python under test; None if there is none."""
    log: Path | None = None
    """The log that the user gave with `--log`."""
    wait_s: float = 30.0
    """Seconds that a process may take before it counts as hung."""
    progress: Callable[[str], None] = lambda _: None
    """Called with a sentence about the current step."""
    shared: SharedFacts = field(default_factory=SharedFacts)


@dataclass(frozen=True)
class Collector:
    """A collector of one section of the report: its function, fields and timeout."""

    name: str
    title: str
    collect: Callable[[ReportContext], Mapping[str, object]]
    """Returns facts, or raises CollectorUnanswered."""
    allowed: Mapping[str, FieldRule]
    """The rule for each field that the report may contain."""
    limit_s: float = 5.0


def run_collector(
    collector: Collector, context: ReportContext, cleaner: Cleaner
) -> tuple[ReportSection, list[OmittedFact]]:
    """Run a collector, and return its section and the omitted fields."""
    started = time.monotonic()
    box: list[Mapping[str, object] | BaseException] = []
    worker = threading.Thread(target=_collect, args=(collector, context, box), daemon=True)
    worker.start()
    worker.join(collector.limit_s)
    seconds = round(time.monotonic() - started, 2)
    one = ReportSection(collector.name, collector.title, "answered", seconds=seconds)
    if not box:
        return _unanswered(one, f"no answer within {collector.limit_s:g} s", cleaner)
    answer = box[0]
    if isinstance(answer, CollectorUnanswered):
        return _unanswered(one, str(answer), cleaner)
    if isinstance(answer, BaseException):
        return _unanswered(one, f"{type(answer).__name__} while it was asked", cleaner)
    facts, left_out = select_allowed(answer, collector.allowed, cleaner, f"{collector.name}.")
    if answer and not facts:
        why = "nothing of it could be cleaned"
        return replace(one, state="left out", why=why), left_out
    return replace(one, facts=facts), left_out


def _collect(
    collector: Collector, context: ReportContext, box: list[Mapping[str, object] | BaseException]
) -> None:
    try:
        box.append(collector.collect(context))
    except BaseException as error:  # noqa: BLE001  the report is made without this section
        box.append(error)


def _unanswered(
    one: ReportSection, why: str, cleaner: Cleaner
) -> tuple[ReportSection, list[OmittedFact]]:
    try:
        why = cleaner.clean_text(why, 3)
    except UncleanText:
        why = "the reason could not be cleaned"
    return replace(one, state="unanswered", why=why), [OmittedFact(one.name, why)]
