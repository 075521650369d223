"""One command that starts hosts: its stdin, its output by host, and its end."""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tpustarter.core import locations
from tpustarter.running.line_splitter import LineSplitter
from tpustarter.running.process import CappedLog, Probe, ProbeGoneEvent
from tpustarter.slices.starting import launch_request
from tpustarter.slices.starting.labelled_output import HostLineSplitter
from tpustarter.slices.starting.launch_request import (
    ENDED,
    PLACED,
    REACHED,
    EndReason,
    HostCommand,
    HostEnded,
    HostLine,
    HostStage,
    StartEvent,
)

CONNECTED_AFTER_S = 5.0
"""Seconds after which the next command starts even if this one has not reached its host."""
LOST_S = 8.0
"""Seconds that a command has to exit once the child that held its connection is gone."""
FINISH_S = 10.0
"""Seconds that the hosts have to exit by themselves after their lifeline has ended."""
STDERR_S = 0.5
"""Seconds for a host's last stderr lines to arrive after its exit code on stdout."""
TAIL_LINES = 12
MAX_EVENTS = 4
"""Maximum number of output pieces, of up to 64 KiB, read from one command at a time."""
MAX_LINE_BYTES = 1024 * 1024
"""Longest line that is passed on whole; an event is never split."""


@dataclass
class _HostState:
    """One host of a command, as far as it is known."""

    stage: HostStage = HostStage.STARTED
    tail: deque[str] = field(default_factory=lambda: deque[str](maxlen=TAIL_LINES))
    code: int | None = None
    """The exit code that it has printed."""
    code_at: float = 0.0
    has_ended: bool = False


class HostProcess:
    """One running command."""

    def __init__(
        self,
        command: HostCommand,
        probe: Path,
        folder: Path,
        env: Mapping[str, str],
        reach_s: float,
    ) -> None:
        number = "all" if command.host is None else command.host
        self._log = CappedLog(folder / f"probe-host-{number}.log")
        self._command = command
        try:
            self._unsent = memoryview(command.archive.read_bytes() if command.archive else b"")
            self.probe = Probe(
                Path(sys.executable),
                probe,
                self._log,
                env=env,
                drop=locations.find_sudo_caller(),
                command=command.words,
                stream=True,
                fed=command.archive is not None,
            )
        except BaseException:
            self._log.close()
            raise
        self._lines = {name: _lines(command) for name in ("stdout", "stderr")}
        self._hosts = {command.host: _HostState()}
        self._ending: EndReason | None = None
        self._gone: ProbeGoneEvent | None = None
        self._began = self._beat_at = time.monotonic()
        self._reach_by = self._began + reach_s
        self._end_by: float | None = None
        self._stops = 0
        self.has_more = False
        """True if `read` left output unread."""
        self._connector = frozenset[int]()
        self._lost_at: float | None = None

    @property
    def host(self) -> int | None:
        """Number of the host that the command starts, or None if it starts all hosts."""
        return self._command.host

    @property
    def ended(self) -> bool:
        """True if the command has ended and all of its output was read."""
        return self._gone is not None

    @property
    def _stage(self) -> HostStage:
        """The stage of the most advanced host."""
        return max(host.stage for host in self._hosts.values())

    @property
    def connecting(self) -> bool:
        """True if the command is still connecting, which only a limited number do at a time."""
        young = time.monotonic() - self._began < CONNECTED_AFTER_S
        return young and self._command.marks and self._stage is HostStage.STARTED

    @property
    def leads(self) -> bool:
        """True if the other commands wait until this one has reached its host."""
        return self._command.leads and self._stage is HostStage.STARTED

    @property
    def sending(self) -> bool:
        """True if part of the probe remains to be sent."""
        return self._may_send and len(self._unsent) > 0 and self._end_by is None

    @property
    def _may_send(self) -> bool:
        # A local program that reads its stdin before it is connected would swallow the probe.
        return self._stage >= HostStage.REACHED or not self._command.marks

    def read(self) -> Generator[StartEvent, None, None]:
        """Yield lines that have arrived, up to a limit that gives other commands their turn."""
        self.has_more = False
        for count in itertools.count():
            if self._gone is not None or not (event := self.probe.read(0)):
                break
            if event["event"] == "output":
                is_error = event["name"] == "stderr"
                for host, text in self._lines[event["name"]].feed(event["data"]):
                    yield from self._line(host, text, is_error=is_error)
            elif event["event"] == "gone":
                self._gone = event
                for name, lines in self._lines.items():
                    for host, text in lines.take_rest():
                        yield from self._line(host, text, is_error=name == "stderr")
            if count == MAX_EVENTS:
                self.has_more = True
                break
        if self._command.labels:
            yield from self._host_ends()

    def _line(
        self, host: int | None, text: str, *, is_error: bool
    ) -> Generator[StartEvent, None, None]:
        state = self._hosts.setdefault(host, _HostState())
        if is_error:
            state.tail.append(text)
        elif self._command.marks and (mark := next(filter(text.endswith, (REACHED, PLACED)), "")):
            self._mark(state, mark)
            text = text.removesuffix(mark)
            if not text:
                return  # otherwise its shell had written an unterminated line
        elif self._command.labels and (match := _ENDED.search(text)):
            if text := text[: match.start()]:
                yield HostLine(host, text, is_error)
            state.code, state.code_at = int(match[1]), time.monotonic()
            return
        line = HostLine(host, text, is_error)
        if line.is_event:
            state.stage = HostStage.RUNNING
        yield line

    def _mark(self, state: _HostState, text: str) -> None:
        if text == PLACED:
            state.stage = max(state.stage, HostStage.PLACED)
        elif state.stage is HostStage.STARTED:
            state.stage = HostStage.REACHED
        else:
            self._end(EndReason.LOST)

    def _host_ends(self, ending: EndReason | None = None) -> Generator[HostEnded, None, None]:
        """Yield the ends of hosts that printed an exit code; with `ending`, of all others too."""
        late = time.monotonic() - STDERR_S
        for host, state in self._hosts.items():
            has_exited = state.code is not None
            if host is None or state.has_ended:
                continue
            if (has_exited and state.code_at < late) or ending:
                state.has_ended = True
                end = EndReason.EXITED if has_exited or ending is None else ending
                tail = tuple(state.tail)
                yield HostEnded(self._command, state.stage, end, state.code, tail, host)

    def tell(self, line: bytes) -> None:
        """Queue a line for the command's stdin, if it has one."""
        if self._command.archive is not None:
            self._unsent = memoryview(bytes(self._unsent) + line)

    def act(self, stops: int) -> None:
        """Send the probe, heartbeats and, when it is time, the signals that end the process."""
        now = time.monotonic()
        if stops > self._stops:
            self._stops = stops
            self._ending = self._ending or EndReason.STOPPED
            self.probe.close_stdin()
            # Without a lifeline, or at the second stop, end at once.
            waits = self._command.archive is not None and stops == 1
            self._end_by = now + FINISH_S if waits else now
        if self._end_by is not None:
            if now >= self._end_by:
                self.probe.begin_end()
            return
        if self._command.marks and self._stage is HostStage.STARTED and now > self._reach_by:
            self._end(EndReason.LATE)
        elif self._command.reconnects and self._has_lost(now):
            self._end(EndReason.LOST)
        elif self._may_send and self._command.archive is not None:
            self._send(now)

    def _has_lost(self, now: float) -> bool:
        """Return whether the child that held the connection is gone, but not the command."""
        children = self.probe.children()
        if self._stage >= HostStage.REACHED and not self._connector:
            self._connector = children
        if not self._connector or self._connector & children:
            self._lost_at = None
            return False
        self._lost_at = self._lost_at or now
        return now - self._lost_at > LOST_S

    def _send(self, now: float) -> None:
        if not len(self._unsent) and now - self._beat_at >= launch_request.HEARTBEAT_S:
            self._unsent = memoryview(b"\n")
        while len(self._unsent) and (sent := self.probe.feed(self._unsent)):
            self._unsent = self._unsent[sent:]
            self._beat_at = now

    def _end(self, ending: EndReason) -> None:
        self._ending = ending
        self._end_by = time.monotonic()
        self.probe.close_stdin()
        self.probe.begin_end()

    def close(self) -> Generator[HostEnded, None, None]:
        """Wait for the process to end, with a timeout; yield the ends of its hosts and its own."""
        gone = self._gone or self.probe.end()
        self.probe.close()
        self._log.close()
        ending = self._ending or (EndReason.SIGNALLED if gone["signal"] else EndReason.EXITED)
        if self._command.labels and self._command.marks:
            yield from self._host_ends(ending)
        tail = tuple(self._hosts[self._command.host].tail)
        yield HostEnded(self._command, self._stage, ending, gone["code"], tail)


_ENDED = re.compile(f"{ENDED}([0-9]{{1,3}})$")


class _OwnLines:
    """The lines of a command for one host."""

    def __init__(self, host: int | None) -> None:
        self._host = host
        self._lines = LineSplitter(MAX_LINE_BYTES)

    def feed(self, data: bytes) -> Iterable[tuple[int | None, str]]:
        return [(self._host, text) for text in self._lines.feed(data)]

    def take_rest(self) -> Iterable[tuple[int | None, str]]:
        return [(self._host, text) for text in self._lines.take_rest()]


def _lines(command: HostCommand) -> HostLineSplitter | _OwnLines:
    if command.labels:
        return HostLineSplitter(command.labels, MAX_LINE_BYTES)
    return _OwnLines(command.host)
