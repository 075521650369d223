"""The process of one lesson, whose blocks share their names.

The first block to run starts the process, which holds the lease while it lives. A block that
crashes or hangs costs only itself: the next one gets a fresh process, in which the blocks above it
can be run first.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from tpustarter.checking.plan import framework_plan
from tpustarter.checking.results.results import BlockedFramework, Reason
from tpustarter.checking.run.outcomes import make_process_ending
from tpustarter.checking.run.probe_session import (
    ProbeSession,
    explain_unusable_python,
    find_program_store,
    start_probe,
)
from tpustarter.core import locations
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.learning.content import code_files
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.drawings.block_drawings import Drawing, parse_drawings
from tpustarter.learning.run import run_target
from tpustarter.learning.run.block_output import FLUSH_S, BlockOutput, OutputChunk
from tpustarter.learning.run.block_results import (
    BlockResult,
    Status,
    judge_block,
    make_result_before_judging,
    make_skipped_result,
)
from tpustarter.learning.run.expected_output import ExpectedOutput
from tpustarter.machine import frameworks, host
from tpustarter.probe import program_store
from tpustarter.probe.commands import BlockCommand
from tpustarter.probe.events import DrawingsEvent
from tpustarter.running import lease, probe_archive, run_folder
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.running.process import (
    END_WAIT_S,
    FINISH_WAIT_S,
    CappedLog,
    Probe,
    ProbeGoneEvent,
    ProcessEvent,
)

PEEK_S = 0.005
"""Seconds to read events that arrived after the last block."""
REPL_WAIT_S = 2.0
"""Seconds that a block gets to end as after Ctrl-C in a REPL."""
_STOPPED = "stopped while it ran"
MAX_LEFT_OVER = 64
"""Maximum number of events read after the last block, because a thread may write forever."""


@dataclass(frozen=True)
class EarlierBlockStarted:
    """Sent when a block above the requested one begins; the block's output and result follow."""

    block: Block
    left: int
    """The number of blocks that still run first, including this one."""


@dataclass(frozen=True)
class BlockPlots:
    """The running block's drawings so far. The block's result has all of them."""

    drawings: tuple[Drawing, ...]


class LessonSessionOptions(TypedDict, total=False):
    """The machine and the user's choices for a session."""

    machine: host.Machine | None
    python: str | None
    devices: int | None
    fresh: bool
    """True to compile every program anew."""


class LessonSession:
    """A lesson in one Python; nothing is started before its first block runs.

    One thread runs blocks. `stop` may be called from any thread or signal handler, and `close` from
    any
    thread.
    """

    def __init__(
        self,
        lesson: Lesson,
        *,
        machine: host.Machine | None = None,
        python: str | None = None,
        devices: int | None = None,
        fresh: bool = False,
        growing: bool = False,
    ) -> None:
        self.lesson = lesson
        self._has_store = lesson.framework == "jax" and not (fresh or lesson.fresh)
        self._growing = growing
        """True if plots are drawn while they grow; `run` then yields `BlockPlots`."""
        self._placement = run_target.choose_target(
            lesson, machine or host.Machine(), python=python, devices=devices
        )
        self.target, self.host = self._placement.target, self._placement.host
        self.blocked: BlockedFramework | None = self._placement.blocked
        """The reason why no block can run; a device held by another lesson may become free."""
        self._session: ProbeSession | None = None
        self._folder = ""
        """The folder of the lesson's files, in which blocks work; empty if it has none."""
        self._probe: Probe | None = None
        self._log: CappedLog | None = None
        self._lease_stack = contextlib.ExitStack()
        self._stopped = self._asks_first = self._answered = False
        self._executed: dict[str, str] = {}  # the code of each block that has run in this process
        self._running_thread: int | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._ended_at = self._ends_at = self._limit_at = time.monotonic()

    @property
    def is_running(self) -> bool:
        """Return whether a block is running."""
        return self._running_thread is not None

    @property
    def is_stopping(self) -> bool:
        """Return whether the running block was sent a request to stop."""
        return self.is_running and self._stopped

    @property
    def is_warm(self) -> bool:
        """Return whether the process is running, with the variables of earlier blocks."""
        return self._probe is not None

    @property
    def holder(self) -> DeviceHolder | None:
        """Return the process as the holder of a device, or None if there is no process."""
        probe = self._probe
        if probe is None:
            return None
        platform = self._placement.plan.platform
        accelerator = platform.upper() if self._takes_accelerator else None
        return DeviceHolder(self._name, probe.pid, accelerator)

    @property
    def _name(self) -> str:
        return f"lesson {self.lesson.id}"

    @property
    def _takes_accelerator(self) -> bool:
        """True if the process takes an accelerator when a block first uses devices."""
        return bool(self.lesson.framework) and self._placement.plan.platform != "cpu"

    @property
    def idle_s(self) -> float:
        """Return the seconds since the last block ended; 0 while one runs or without a process."""
        return 0.0 if self.is_running or not self.is_warm else time.monotonic() - self._ended_at

    def has_run(self, block: str) -> bool:
        """Return whether a block has run in the current process."""
        return block in self._executed

    def run(
        self, block: Block, code: str | None = None, *, above: Sequence[tuple[Block, str]] = ()
    ) -> Iterator[OutputChunk | BlockPlots | EarlierBlockStarted | BlockResult]:
        """Run a block, or other code for it, yielding events and finally the result.

        The blocks in `above` run first, unless this process has already run the same code. If one
        of them
        breaks, the block itself does not run.

        Raises:
            Problem: Another block is running.
        """
        if self.is_running:
            raise Problem("a block of this lesson is running", code=ExitCode.BUSY)
        self._stopped = False
        self._running_thread = threading.get_ident()
        self._idle.clear()
        return self._run_guarded(block, block.code if code is None else code, above)

    def stop(self, *, names_stay: bool = False) -> None:
        """Stop the running block; safe in any thread and signal handler.

        Its process ends too, unless `names_stay` is set and the block ends as after Ctrl-C in a
        REPL.
        """
        self._asks_first = names_stay and not self._stopped  # a second call does not wait
        self._stopped = True
        probe = self._probe
        if probe and self.is_running:
            probe.interrupt()

    def close(self) -> None:
        """End the process, within bounded time; a block that runs later starts a fresh one."""
        if self.is_running:
            self.stop()
            if threading.get_ident() != self._running_thread:
                self._idle.wait(END_WAIT_S + FINISH_WAIT_S)
                if self.is_running:
                    return
        self._end_process(gently=not self.is_running)
        session, self._session = self._session, None
        if session:
            run_folder.remove_run_folder(session.folder)  # its log has been shown

    def _run_guarded(
        self, block: Block, code: str, above: Sequence[tuple[Block, str]]
    ) -> Iterator[OutputChunk | BlockPlots | EarlierBlockStarted | BlockResult]:
        self._running_thread = threading.get_ident()  # `run` may have been called in another thread
        has_result = False
        try:
            for item in self._run_in_turn(block, code, above):
                has_result = isinstance(item, BlockResult) and item.id == block.id
                yield item
        finally:
            if not has_result:  # the caller has abandoned this block
                self._end_process(gently=False)
            self._ended_at = time.monotonic()
            self._running_thread = None
            self._idle.set()

    def _run_in_turn(
        self, block: Block, code: str, above: Sequence[tuple[Block, str]]
    ) -> Iterator[OutputChunk | BlockPlots | EarlierBlockStarted | BlockResult]:
        yield from self._take_left_over(names_are_lost=not above)
        missing = [
            (earlier, earlier_code)
            for earlier, earlier_code in above
            if self._executed.get(earlier.id) != earlier_code
        ]
        for number, (earlier, earlier_code) in enumerate(missing):
            yield EarlierBlockStarted(earlier, len(missing) - number)
            result = BlockResult(earlier.id, "notrun")
            for item in self._run_block(earlier, earlier_code):
                result = item if isinstance(item, BlockResult) else result
                yield item
            if self._stopped:
                yield BlockResult(block.id, "notrun", "interrupted")
                return
            if result.status == "skip" or result.reason == "load":
                yield replace(result, id=block.id)
                return
            if result.status not in ("pass", "fail"):
                detail = f"{earlier.name} above has to work first"
                yield BlockResult(block.id, "notrun", "dependency", detail)
                return
        yield from self._run_block(block, code)

    def _command(self, block: Block, code: str) -> BlockCommand:
        store = self._session.program_store if self._session else None
        return {
            "do": "block",
            "id": block.id,
            "code": code,
            "timeout_s": block.timeout_s,
            "alone": block.alone,
            "file": block.file or block.name,
            "plot": block.plot,
            "x": block.x,
            "show": block.show,
            "growing": self._growing,
            "framework": self.lesson.framework,
            "folder": self._folder,
            "program_store": str(store or ""),
            "lesson": self.lesson.id,
        }

    def _run_block(
        self, block: Block, code: str
    ) -> Iterator[OutputChunk | BlockPlots | BlockResult]:
        if self._placement.blocked:
            yield make_skipped_result(block, self._placement.blocked)
            return
        output = BlockOutput(self._placement.redact)
        try:
            probe = self._ensure_process()
        except Problem as problem:
            if problem.code in (ExitCode.BUSY, ExitCode.LIMIT):
                self.blocked = BlockedFramework(problem.full_text, problem.code, problem.hint or "")
                yield make_skipped_result(block, self.blocked)
            else:
                yield BlockResult(block.id, "error", "load", problem.full_text)
            return
        self.blocked = None
        started_at = time.monotonic()
        self._ends_at = self._limit_at = started_at + block.timeout_s
        probe.send(self._command(block, code))
        if self._stopped:  # stop() came before the process existed
            probe.interrupt()
        while True:
            remaining_s = self._ends_at - time.monotonic()
            event = probe.read(min(remaining_s, FLUSH_S) if output.is_waiting else remaining_s)
            if event is None and output.is_waiting and remaining_s > 0:
                yield from output.flush()
            elif event and event["event"] == "output":
                yield from output.add(event["name"], event["data"])
            elif event and event["event"] == "drawn":
                yield from self._drawn(event, block)
            elif not self._ends_block(event, block):
                continue
            else:
                break
        yield from output.flush(final=True)
        seconds = time.monotonic() - started_at
        expected = block.expected_of(code, self.target.get("platform", ""))
        result = self._make_result(block, expected, event, output, seconds)
        if self._probe:
            self._executed[block.id] = code
        yield result

    def _drawn(self, event: DrawingsEvent, block: Block) -> Iterator[BlockPlots]:
        drawings = parse_drawings(event.get("drawings"), self._placement.redact.redact_text)
        if drawings and self._growing and event.get("id") == block.id:
            yield BlockPlots(drawings)

    def _ends_block(self, event: ProcessEvent | None, block: Block) -> bool:
        """Return whether an event ends the block, unlike the process's start events."""
        kind = event["event"] if event else "timeout"
        if event and event["event"] == "end" and event.get("id") != block.id:
            return False  # an earlier block sent two ends
        if kind == "versions":
            self._answered = True
        if kind == "start" and self._ends_at == self._limit_at:
            # The child counts from here too, and dumps its stacks shortly before the limit.
            self._ends_at = time.monotonic() + block.timeout_s
        if kind == "interrupted" and self._asks_first and self._probe:
            self._asks_first = False
            self._probe.ask_to_end()
            self._ends_at = min(self._ends_at, time.monotonic() + REPL_WAIT_S)
            return False
        return kind not in ("versions", "start") and (kind != "interrupted" or self._stopped)

    def _make_result(
        self,
        block: Block,
        expected: ExpectedOutput | None,
        event: ProcessEvent | None,
        output: BlockOutput,
        seconds: float,
    ) -> BlockResult:
        """Return the result for the event that ended a block, ending a broken process."""
        result = make_result_before_judging(block, expected, output, seconds)
        if event and event["event"] == "end":
            if self._stopped and event.get("outcome") != "done":
                return replace(result, status="notrun", reason="interrupted", detail=_STOPPED)
            return judge_block(result, expected, event, output, self._placement.redact)
        gone = self._end_process(gently=False)
        status, reason, detail = self._describe_failure(block, event)
        if gone and gone["left"]:
            detail += f"; the kernel did not release {gone['left']}"
        return replace(result, status=status, reason=reason, detail=detail)

    def _describe_failure(
        self, block: Block, event: ProcessEvent | None
    ) -> tuple[Status, Reason, str]:
        if self._stopped:  # by its event, or its process is gone or hung
            return ("notrun", "interrupted", _STOPPED)
        if event is None:
            return ("error", "timeout", f"not done within {block.timeout_s:g} s")
        if event["event"] == "gone":
            if not self._answered:
                log = self._log.read_since(0) if self._log else ""
                problem = explain_unusable_python(
                    self._placement.python, event, self._placement.redact.redact_text(log)
                )
                reason = "crashed" if problem.code == ExitCode.LIMIT else "load"
                return ("error", reason, problem.full_text)
            _, reason, detail, _ = make_process_ending(event)
            return ("error", reason or "crashed", detail)
        return ("error", "protocol", "wrote something that is not an event")

    def _take_left_over(self, *, names_are_lost: bool) -> Iterator[OutputChunk]:
        """Yield later output of the last block's threads, or a note that the process ended."""
        for _ in range(MAX_LEFT_OVER):
            event = self._probe.read(PEEK_S) if self._probe else None
            if event is None:
                return
            if event["event"] == "gone":
                self._end_process()
                note = ": names are lost" if names_are_lost else ""
                yield OutputChunk(f"[the process has ended since the last block{note}]\n")
            elif event["event"] == "output":
                yield OutputChunk(
                    self._placement.redact.redact_text(event["data"].decode("utf-8", "replace"))
                )

    def _ensure_process(self) -> Probe:
        """Return the running process, or start one, under the lease if it may take a device.

        Raises:
            Problem: Another run holds the device, or the process cannot be started.
        """
        if self._probe:
            return self._probe
        session = self._session = self._session or self._make_session()
        if self._takes_accelerator:
            session.lease = self._lease_stack.enter_context(
                lease.hold_device_lease(self._name, self._placement.machine)
            )
        try:
            probe, self._log = start_probe(session, stream=True)
        except Problem:
            self._lease_stack.close()
            raise
        self._answered = False
        self._probe = probe
        probe.send({"do": "versions"})  # a reply proves that this Python can run the probe
        return probe

    def _make_session(self) -> ProbeSession:
        folder = run_folder.make_run_folder()
        self._folder = str(code_files.write_code_files(self.lesson, folder / "code") or "")
        # A lesson without a framework gets the user's environment, which it may be about.
        env = {**self._placement.machine.env, **framework_plan.run_folder_variables(folder)}
        if self.lesson.framework:
            env = framework_plan.make_probe_environment(
                self._placement.plan,
                self._placement.machine.env,
                folder,
                self.lesson.framework,
            )
            env = {**frameworks.FRAMEWORKS[self.lesson.framework].quiet_variables, **env}
        store = find_program_store() if self._has_store else None
        if store:
            env = {**program_store.VARIABLES, **env}
        return ProbeSession(
            self._placement.python,
            probe_archive.build_probe_archive(folder / "probe.pyz"),
            folder,
            env,
            framework_plan.make_target(self._placement.plan, self._placement.machine),
            self._placement.redact,
            drop=locations.find_sudo_caller(),
            program_store=store,
        )

    def _end_process(self, *, gently: bool = True) -> ProbeGoneEvent | None:
        """End the process and release the lease; return its `gone` event."""
        probe, self._probe = self._probe, None
        self._executed = {}
        if probe is None:
            return None
        if not gently:
            probe.end()
        gone_event = probe.close()
        if self._log:
            self._log.close()
        self._lease_stack.close()
        return gone_event
