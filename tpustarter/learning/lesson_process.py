"""One lesson being worked on: one process, names shared between its blocks, and a verdict for each.

The process is started by the first block that runs, and holds the lease while it lives. A block
that crashes or hangs costs only itself: the next one gets a fresh process, in which the blocks
above it can be run first.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from tpustarter import locations
from tpustarter.checking import plan
from tpustarter.checking.outcomes import process_ending
from tpustarter.checking.results import Blocked, Reason
from tpustarter.checking.session import Session, python_problem, start
from tpustarter.content import Lesson
from tpustarter.learning import code_files, where
from tpustarter.learning.block_results import BlockResult, Status, judged, printed, skipped
from tpustarter.learning.blocks import Block
from tpustarter.learning.drawings import Drawing
from tpustarter.learning.drawings import parse as parse_drawings
from tpustarter.learning.expected import Expected
from tpustarter.learning.output import FLUSH_S, BlockOutput, Output
from tpustarter.machine import frameworks, host
from tpustarter.problem import ExitCode, Problem
from tpustarter.running import archive, lease, run_folder
from tpustarter.running.process import END_WAIT_S, FINISH_WAIT_S, CappedLog, Event, Probe

PEEK_S = 0.005
"""Seconds to look for what came since the last block."""
REPL_WAIT_S = 2.0
"""Seconds that a block gets to end as it would for Ctrl-C in a REPL."""
_STOPPED = "stopped while it ran"
MAX_LEFT_OVER = 64
"""Pieces of such output taken at most: a thread may write for ever."""


@dataclass(frozen=True)
class RunsFirst:
    """A block begins that stands above the one asked for; its output and result follow."""

    block: Block
    left: int
    """How many blocks run first, this one included."""


@dataclass(frozen=True)
class Drawn:
    """What the block that runs has drawn so far; its result has all of it."""

    drawings: tuple[Drawing, ...]


def _is_output(event: Event | None) -> TypeGuard[Event]:
    """Return whether an event is output; what a block wrote to look like it holds no bytes."""
    return event is not None and isinstance(event.get("data"), bytes)


class LessonSession:
    """One lesson in one Python: nothing is started before its first block runs.

    One thread runs blocks; `stop` may be called from any thread or signal handler, `close` from
    any thread.
    """

    def __init__(
        self,
        lesson: Lesson,
        *,
        machine: host.Machine | None = None,
        python: str | None = None,
        devices: int | None = None,
        growing: bool = False,
    ) -> None:
        self.lesson = lesson
        self._growing = growing
        """Whether plots are told as they grow: `run` yields `Drawn` then."""
        self._placement = where.look(
            lesson, machine or host.Machine(), python=python, devices=devices
        )
        self.target, self.host = self._placement.target, self._placement.host
        self.blocked: Blocked | None = self._placement.blocked
        """Why no block of this lesson is run; that something of ours has the TPU may pass."""
        self._session: Session | None = None
        self._folder = ""
        """Where the lesson's files are, and its blocks work; empty for a lesson without any."""
        self._probe: Probe | None = None
        self._log: CappedLog | None = None
        self._lease_stack = contextlib.ExitStack()
        self._stopped = self._asks_first = self._answered = False
        self._executed: dict[str, str] = {}  # by block: the code that has run in the process
        self._running_thread: int | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._ended_at = self._ends_at = time.monotonic()

    @property
    def is_running(self) -> bool:
        """Whether a block is running."""
        return self._running_thread is not None

    @property
    def is_stopping(self) -> bool:
        """Whether the block that runs was told to end."""
        return self.is_running and self._stopped

    @property
    def is_warm(self) -> bool:
        """Whether the process is up, with the names of earlier blocks in it."""
        return self._probe is not None

    @property
    def holder(self) -> str | None:
        """Return what to tell others about the process; None while there is none."""
        probe = self._probe
        return f"lesson {self.lesson.id}, pid {probe.pid}" if probe else None

    @property
    def idle_s(self) -> float:
        """Return the seconds since the last block ended; 0 while one runs or nothing is up."""
        return 0.0 if self.is_running or not self.is_warm else time.monotonic() - self._ended_at

    def has_run(self, block: str) -> bool:
        """Return whether the names a block made are in the process."""
        return block in self._executed

    def run(
        self, block: Block, code: str | None = None, *, above: Sequence[tuple[Block, str]] = ()
    ) -> Iterator[Output | Drawn | RunsFirst | BlockResult]:
        """Run a block, with other code if any is given; the last item is its result.

        Of the blocks above it, given with their code, those that have not run in this process as
        they stand run first, up to the first one that breaks.

        Raises:
            Problem: another block is running.
        """
        if self.is_running:
            raise Problem("a block of this lesson is running", code=ExitCode.BUSY)
        self._stopped = False
        self._running_thread = threading.get_ident()
        self._idle.clear()
        return self._run_guarded(block, block.code if code is None else code, above)

    def stop(self, *, names_stay: bool = False) -> None:
        """End the running block; safe in any thread and signal handler.

        Its process ends with it, unless it ends as for Ctrl-C in a REPL where names are to stay.
        """
        self._asks_first = names_stay and not self._stopped  # who asks twice does not want to wait
        self._stopped = True
        probe = self._probe
        if probe and self.is_running:
            probe.interrupt()

    def close(self) -> None:
        """Let the process go, in bounded time; a block that runs later starts a fresh one."""
        if self.is_running:
            self.stop()
            if threading.get_ident() != self._running_thread:
                self._idle.wait(END_WAIT_S + FINISH_WAIT_S)
                if self.is_running:
                    return
        self._end_process(gently=not self.is_running)
        session, self._session = self._session, None
        if session:
            run_folder.remove(session.folder)  # what its log says was shown

    def _run_guarded(
        self, block: Block, code: str, above: Sequence[tuple[Block, str]]
    ) -> Iterator[Output | Drawn | RunsFirst | BlockResult]:
        self._running_thread = threading.get_ident()  # the thread that reads, whoever asked
        has_result = False
        try:
            for item in self._run_in_turn(block, code, above):
                has_result = isinstance(item, BlockResult) and item.id == block.id
                yield item
        finally:
            if not has_result:  # nobody waits for the end of this block
                self._end_process(gently=False)
            self._ended_at = time.monotonic()
            self._running_thread = None
            self._idle.set()

    def _run_in_turn(
        self, block: Block, code: str, above: Sequence[tuple[Block, str]]
    ) -> Iterator[Output | Drawn | RunsFirst | BlockResult]:
        yield from self._take_left_over(names_are_lost=not above)
        missing = [
            (earlier, earlier_code)
            for earlier, earlier_code in above
            if self._executed.get(earlier.id) != earlier_code
        ]
        for number, (earlier, earlier_code) in enumerate(missing):
            yield RunsFirst(earlier, len(missing) - number)
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

    def _run_block(self, block: Block, code: str) -> Iterator[Output | Drawn | BlockResult]:
        if self._placement.blocked:
            yield skipped(block, self._placement.blocked)
            return
        output = BlockOutput(self._placement.redact)
        try:
            probe = self._ensure_process()
        except Problem as problem:
            if problem.code in (ExitCode.BUSY, ExitCode.LIMIT):
                self.blocked = Blocked(problem.what, problem.code, problem.hint or "")
                yield skipped(block, self.blocked)
            else:
                yield BlockResult(block.id, "error", "load", problem.what)
            return
        self.blocked = None
        started_at = time.monotonic()
        self._ends_at = started_at + block.timeout_s
        name = block.file or block.name
        probe.send({"do": "block", "id": block.id, "code": code, "timeout_s": block.timeout_s,
                    "alone": block.alone, "file": name,
                    "plot": block.plot, "x": block.x, "show": block.show,
                    "growing": self._growing, "framework": self.lesson.framework,
                    "folder": self._folder})  # fmt: skip
        if self._stopped:  # stop() came before there was a process to stop
            probe.interrupt()
        while True:
            remaining_s = self._ends_at - time.monotonic()
            event = probe.read(min(remaining_s, FLUSH_S) if output.is_waiting else remaining_s)
            if event is None and output.is_waiting and remaining_s > 0:
                yield from output.flush()
            elif _is_output(event):
                yield from output.add(event["name"], event["data"])
            elif event and event["event"] == "drawn":
                yield from self._drawn(event, block)
            elif not self._ends_block(event, block):
                continue
            else:
                break
        yield from output.flush(final=True)
        seconds = time.monotonic() - started_at
        expected = block.expected_of(code, self.target["platform"])
        result = self._make_result(block, expected, event, output, seconds)
        if self._probe:
            self._executed[block.id] = code
        yield result

    def _drawn(self, event: Event, block: Block) -> Iterator[Drawn]:
        drawings = parse_drawings(event.get("drawings"), self._placement.redact.text)
        if drawings and self._growing and event.get("id") == block.id:
            yield Drawn(drawings)

    def _ends_block(self, event: Event | None, block: Block) -> bool:
        """Return whether an event ends the block: the process answering or starting it does not."""
        kind = event["event"] if event else "timeout"
        if event and kind == "end" and event.get("id") != block.id:
            return False  # a block before it told two ends
        if kind == "versions":
            self._answered = True
        if kind == "interrupted" and self._asks_first and self._probe:
            self._asks_first = False
            self._probe.ask_to_end()
            self._ends_at = min(self._ends_at, time.monotonic() + REPL_WAIT_S)
            return False
        return kind not in ("versions", "start") and (kind != "interrupted" or self._stopped)

    def _make_result(
        self,
        block: Block,
        expected: Expected | None,
        event: Event | None,
        output: BlockOutput,
        seconds: float,
    ) -> BlockResult:
        """Turn the event that ended a block into its result; a broken process is ended."""
        result = printed(block, expected, output, seconds)
        if event and event["event"] == "end":
            if self._stopped and event.get("outcome") != "done":
                return replace(result, status="notrun", reason="interrupted", detail=_STOPPED)
            return judged(result, expected, event, output, self._placement.redact)
        gone = self._end_process(gently=False)
        status, reason, detail = self._describe_failure(block, event)
        if gone and gone["left"]:
            detail += f"; the kernel did not release {gone['left']}"
        return replace(result, status=status, reason=reason, detail=detail)

    def _describe_failure(self, block: Block, event: Event | None) -> tuple[Status, Reason, str]:
        if self._stopped:  # told by the event, or the process is gone already, or does not answer
            return ("notrun", "interrupted", _STOPPED)
        if event is None:
            return ("error", "timeout", f"not done within {block.timeout_s:g} s")
        if event["event"] == "gone" and "left" in event:
            if not self._answered:
                log = self._log.since(0) if self._log else ""
                problem = python_problem(
                    self._placement.python, event, self._placement.redact.text(log)
                )
                reason = "crashed" if problem.code == ExitCode.LIMIT else "load"
                return ("error", reason, problem.what)
            _, reason, detail, _ = process_ending(event)
            return ("error", reason or "crashed", detail)
        return ("error", "protocol", "wrote something that is not an event")

    def _take_left_over(self, *, names_are_lost: bool) -> Iterator[Output]:
        """Take what came since the last block: output of its threads, or the end of the process."""
        for _ in range(MAX_LEFT_OVER):
            event = self._probe.read(PEEK_S) if self._probe else None
            if event is None:
                return
            if event["event"] == "gone" and "left" in event:
                self._end_process()
                note = ": names are lost" if names_are_lost else ""
                yield Output(f"[the process has ended since the last block{note}]\n")
            elif _is_output(event):
                yield Output(self._placement.redact.text(event["data"].decode("utf-8", "replace")))

    def _ensure_process(self) -> Probe:
        """Return the warm process, or start one, under the lease where it may own a device.

        Raises:
            Problem: something of ours holds the device, or the process cannot be started.
        """
        if self._probe:
            return self._probe
        session = self._session = self._session or self._make_session()
        if self.lesson.framework and self._placement.plan.platform != "cpu":
            name = f"lesson {self.lesson.id}"
            session.lease = self._lease_stack.enter_context(
                lease.device(name, self._placement.machine)
            )
        try:
            probe, self._log = start(session, stream=True)
        except Problem:
            self._lease_stack.close()
            raise
        self._answered = False
        self._probe = probe
        probe.send({"do": "versions"})  # its answer tells that this is a Python we can use
        return probe

    def _make_session(self) -> Session:
        folder = run_folder.make()
        self._folder = str(code_files.place(self.lesson, folder / "code") or "")
        # A lesson without a framework sees the environment as it is: it may be about that.
        env = {**self._placement.machine.env, **plan.own_folders(folder)}
        if self.lesson.framework:
            env = plan.run_env(
                self._placement.plan,
                self._placement.machine.env,
                folder,
                self.lesson.framework,
            )
            env = {**frameworks.FRAMEWORKS[self.lesson.framework].quiet, **env}
        return Session(
            self._placement.python,
            archive.build(folder / "probe.pyz"),
            folder,
            env,
            plan.target_of(self._placement.plan, self._placement.machine),
            self._placement.redact,
            drop=locations.caller(),
        )

    def _end_process(self, *, gently: bool = True) -> Event | None:
        """Forget the process and free the lease; returns its `gone` event."""
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
