"""The commands that start a run on many hosts: their output by host, and their end.

One thread waits for all of them at once. Output is passed on as it came: whoever shows it escapes
and redacts it.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import os
import re
import selectors
import shlex
import shutil
import sys
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem, find_limit_problem
from tpustarter.running import archive
from tpustarter.running.line_splitter import LineSplitter
from tpustarter.running.process import CappedLog, Probe, allow_descriptors

PORT = 8476
"""Port of the coordinator where none is given; JAX's own on Cloud TPU."""
LIFELINE_S = 60
"""Seconds without a byte on its stdin after which a host ends its run."""
HEARTBEAT_S = 10
REACHED = "tpustarter-reached"
"""Line that a host prints first, on stdout, where the engine runs a shell line on it."""
PLACED = "tpustarter-placed"
"""Line that it prints when it has the probe, just before it starts it."""
EVENT = '{"event":'
"""Beginning of a line that is an event of the probe."""

NOT_CONNECTED = 255
"""Exit code of ssh for a connection that failed or was lost; the probe never ends with it."""
CONNECTING = 8
"""Hosts that are being connected at a time: gcloud takes two seconds of a core for each."""
CONNECTED_AFTER_S = 5.0
"""Seconds after which the next one is begun, although this one was not reached."""
REACH_S = 120.0
"""Longest wait for a host that marks its stages. gcloud repeats ssh ten times, so that a key that
it has just added has time to arrive."""
LOST_S = 8.0
"""Seconds that a program has to end after the one that was connected for it."""
FINISH_S = 10.0
"""Seconds that the hosts have to end by themselves, once their lifeline has ended."""
LOOK_S = 1.0
SEND_S = 0.01
"""Seconds between two looks at a stdin that had no room, for 64 KiB each."""
TAIL_LINES = 12
MAX_EVENTS = 4
"""Pieces of output, of 64 KiB at most, that are read from one host at a time."""
MAX_LINE_BYTES = 1024 * 1024
"""Longest line that is passed on whole; an event is never cut."""


@dataclass(frozen=True, kw_only=True)
class StartRequest:
    """A run to be started on many hosts."""

    archive: Path
    """The probe's zip, on this machine."""
    python: str = "python3"
    """Python under test on the hosts, as typed there."""
    hosts: tuple[str, ...] = ()
    """Names of the hosts, where the engine does not know them."""
    count: int | None = None
    """Number of hosts, where the engine needs it."""
    port: int = PORT
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """The engine's own, such as the zone."""


@dataclass(frozen=True, kw_only=True)
class HostCommand:
    """A command that starts the run on one host, or on all of them."""

    words: tuple[str, ...]
    host: int | None = None
    """The host's number; None where the command starts all of them."""
    name: str = ""
    """The host as a person calls it."""
    archive: Path | None = None
    """File that its stdin begins with, before the lifeline; None for a command without stdin."""
    marks: bool = False
    """Whether the host prints `REACHED` and `PLACED`."""
    reconnects: bool = False
    """Whether its program starts another one that connects, and starts that again where the
    connection is lost."""
    leads: bool = False
    """Whether the others wait until its host was reached: it may make a key that they need."""
    label: re.Pattern[str] | None = None
    """What a line begins with where the engine labels it; its first group is the host's number."""

    @property
    def text(self) -> str:
        """The command as a person can paste it into a shell."""
        command = " ".join(quote(word) for word in self.words)
        if self.archive is None:
            return command
        beats = f"while sleep {HEARTBEAT_S}; do echo; done"
        return f"{{ cat {quote(str(self.archive))}; {beats}; }} | {command}"


def quote(word: str) -> str:
    """Return a word for a POSIX shell; one with single quotes in it stands in double ones."""
    if "'" not in word or "!" in word:
        return shlex.quote(word)
    return '"' + re.sub(r'([\\"$`])', r"\\\1", word) + '"'


def script(commands: Sequence[HostCommand]) -> str:
    """Return all commands as a person can paste them into a shell, a line each."""
    if len(commands) == 1:
        return commands[0].text
    return "".join(f"{command.text} &\n" for command in commands) + "wait"


class Stage(enum.IntEnum):
    """How far a host got."""

    STARTED = 0
    """The command was started here; without marks nothing more is known until the first event."""
    REACHED = 1
    """A shell runs on the host."""
    PLACED = 2
    """It has the probe, and Python is being started."""
    RUNNING = 3
    """The probe has sent its first event."""


class Ending(enum.Enum):
    """The reason why a command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    """A signal ended it, here."""
    STOPPED = "stopped"
    """`stop` was called."""
    LATE = "late"
    """This program ended it, because the host was not reached in time."""
    LOST = "lost"
    """This program ended it, because its connection was lost and it was about to make another one:
    the probe cannot be sent again."""
    NOT_STARTED = "not started"
    """This machine could not start it."""


@dataclass(frozen=True)
class HostLine:
    """A line of a host's output, without the engine's label."""

    host: int | None
    """None where it is the engine's own, or the host is not known."""
    text: str
    is_error: bool
    """Whether it came on stderr."""

    @property
    def is_event(self) -> bool:
        """Whether it is an event of the probe, and not log."""
        return not self.is_error and self.text.startswith(EVENT)


@dataclass(frozen=True)
class HostEnded:
    """The end of a command."""

    command: HostCommand
    stage: Stage
    ending: Ending
    code: int | None
    """Exit code of ssh, gcloud and so on. None where it has none; after a stop that means that the
    host may still be ending."""
    tail: tuple[str, ...]
    """Last lines of stderr, in the words of the programs that wrote them."""

    @property
    def host(self) -> int | None:
        """The host's number; None where the command started all of them."""
        return self.command.host

    @property
    def is_unreached(self) -> bool:
        """Whether no shell ran on the host, as far as the engine tells."""
        return self.command.marks and self.stage is Stage.STARTED

    @property
    def is_lost(self) -> bool:
        """Whether there was a connection, and it did not last."""
        was_there = self.command.marks and not self.is_unreached
        ended = self.ending is Ending.EXITED and self.code == NOT_CONNECTED
        return was_there and (ended or self.ending is Ending.LOST)

    @property
    def what(self) -> str:
        """The end in words that follow the host's name."""
        code = "" if self.code is None else f" (exit code {self.code})"
        if self.ending is Ending.STOPPED:
            return f"was stopped{code}" if code else "was stopped, and may still be ending"
        if self.ending in _ENDINGS:
            return _ENDINGS[self.ending]
        if self.is_lost:
            return f"was lost: its connection ended{code}"
        return f"{_STAGES[self.stage] if self.command.marks else 'ended'}{code}"


_ENDINGS = {
    Ending.NOT_STARTED: "could not be started from this machine",
    Ending.LATE: "was not reached in time",
    Ending.LOST: "was lost: its connection ended",
    Ending.SIGNALLED: "is no longer connected: the command here was killed",
}
_STAGES = {
    Stage.STARTED: "was not reached",
    Stage.REACHED: "could not store the probe",
    Stage.PLACED: "could not run the probe",
    Stage.RUNNING: "ended",
}

StartEvent = HostLine | HostEnded


class Started:
    """The commands of one start; `stop` ends all of them from anywhere."""

    def __init__(
        self,
        commands: Sequence[HostCommand],
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        reach_s: float = REACH_S,
    ) -> None:
        """Prepare it; nothing is started before `events` is read.

        Args:
            commands: At least one, as an engine made them.
            folder: The run's folder, for a log per command.
            env: Variables of the commands; those of this program if None.
            reach_s: Seconds after which a host that was not reached is given up.

        Raises:
            Problem: a program is not on PATH.
        """
        self._env = dict(os.environ if env is None else env)
        path = self._env.get("PATH")
        programs = {word: _find_program(word, path) for word in {one.words[0] for one in commands}}
        self._waiting = deque(
            replace(one, words=(programs[one.words[0]], *one.words[1:])) for one in commands
        )
        self._folder = folder
        self._reach_s = reach_s
        self._running: dict[int, _Running] = {}
        """By the descriptor that is readable when there is output."""
        self._stops = 0
        self._wake, self._waker = os.pipe()
        for descriptor in (self._wake, self._waker):
            os.set_blocking(descriptor, False)

    def stop(self) -> None:
        """End every host; safe in any thread and signal handler.

        The lifelines end first, so that the hosts end by themselves and say so. After `FINISH_S`
        seconds, or at the next call, what is left here is ended: TERM, 5 s, KILL.
        """
        self._stops += 1
        with contextlib.suppress(OSError):
            os.write(self._waker, b"!")

    def events(self) -> Generator[StartEvent | None]:
        """Yield the lines of all hosts, and the end of each command once.

        About once a second without either it yields None, so that the reader can see to its own
        deadlines.

        It also sends the heartbeats: a host whose events are not read for `LIFELINE_S` seconds
        ends.
        """
        allow_descriptors(len(self._waiting))
        probe = archive.build_archive(self._folder / "starting.pyz")
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            try:
                while self._waiting or self._running:
                    yield from self._start_next(probe, selector)
                    ready = {key.fd for key, _ in selector.select(self._patience_s())}
                    if self._wake in ready:
                        os.read(self._wake, 512)
                    if not ready:
                        yield None
                    for descriptor, running in list(self._running.items()):
                        yield from running.read()
                        running.act(self._stops)
                        if running.ended:
                            selector.unregister(descriptor)
                            del self._running[descriptor]
                            yield running.close()
            finally:
                self._end_all()

    def _start_next(
        self, probe: Path, selector: selectors.BaseSelector
    ) -> Generator[StartEvent, None, None]:
        while self._waiting and (self._stops or self._has_turn()):
            command = self._waiting.popleft()
            if self._stops:
                yield HostEnded(command, Stage.STARTED, Ending.STOPPED, None, ())
                continue
            try:
                running = _Running(command, probe, self._folder, self._env, self._reach_s)
            except (OSError, Problem) as error:
                limit = find_limit_problem(error)
                what = limit.full_text if limit else str(getattr(error, "full_text", error))
                yield HostEnded(command, Stage.STARTED, Ending.NOT_STARTED, None, (what,))
                continue
            self._running[running.probe.fileno()] = running
            selector.register(running.probe.fileno(), selectors.EVENT_READ)

    def _has_turn(self) -> bool:
        if any(running.leads for running in self._running.values()):
            return False
        return sum(running.connecting for running in self._running.values()) < CONNECTING

    def _patience_s(self) -> float:
        if any(running.has_more for running in self._running.values()):
            return 0.0
        if any(running.sending for running in self._running.values()):
            return SEND_S
        return LOOK_S / 5 if self._waiting else LOOK_S

    def _end_all(self) -> None:
        """End what is left, all at the same time."""
        for running in self._running.values():
            running.probe.begin_end()
        for running in self._running.values():
            running.close()
        self._running.clear()
        self._waiting.clear()
        pipe, self._waker = (self._wake, self._waker), -1  # a later stop writes to no other file
        for descriptor in pipe:
            os.close(descriptor)


class _Running:
    """One command that runs."""

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
                drop=locations.find_caller(),
                command=command.words,
                stream=True,
                fed=command.archive is not None,
            )
        except BaseException:
            self._log.close()
            raise
        self._lines = {name: LineSplitter(MAX_LINE_BYTES) for name in ("stdout", "stderr")}
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._stage = Stage.STARTED
        self._ending: Ending | None = None
        self._gone: Mapping[str, int | None] | None = None
        self._began = self._beat_at = time.monotonic()
        self._reach_by = self._began + reach_s
        self._end_by: float | None = None
        self._stops = 0
        self.has_more = False
        """Whether `read` left something."""
        self._connector = frozenset[int]()
        self._lost_at: float | None = None

    @property
    def ended(self) -> bool:
        return self._gone is not None

    @property
    def connecting(self) -> bool:
        """Whether it takes the place of another one that waits."""
        young = time.monotonic() - self._began < CONNECTED_AFTER_S
        return young and self._command.marks and self._stage is Stage.STARTED

    @property
    def leads(self) -> bool:
        """Whether all others wait for it."""
        return self._command.leads and self._stage is Stage.STARTED

    @property
    def sending(self) -> bool:
        """Whether the probe is on its way."""
        return self._may_send and len(self._unsent) > 0 and self._end_by is None

    @property
    def _may_send(self) -> bool:
        # A program here that reads its stdin before there is a connection would take the probe.
        return self._stage >= Stage.REACHED or not self._command.marks

    def read(self) -> Generator[HostLine, None, None]:
        """Yield lines that have come; a flood must not keep the others waiting."""
        self.has_more = False
        for count in itertools.count():
            if self._gone is not None or not (event := self.probe.read(0)):
                return
            if event["event"] == "output":
                is_error = event["name"] == "stderr"
                for text in self._lines[event["name"]].feed(event["data"]):
                    yield from self._line(text, is_error=is_error)
            elif event["event"] == "gone":
                self._gone = event
                for name, lines in self._lines.items():
                    for text in lines.take_rest():
                        yield from self._line(text, is_error=name == "stderr")
            if count == MAX_EVENTS:
                self.has_more = True
                return

    def _line(self, text: str, *, is_error: bool) -> Generator[HostLine, None, None]:
        host = self._command.host
        label = self._command.label
        if label and (match := label.match(text)):
            host, text = int(match[1]), text[match.end() :]
        if is_error:
            self._tail.append(text)
        elif self._command.marks and (mark := next(filter(text.endswith, (REACHED, PLACED)), "")):
            self._mark(mark)
            text = text.removesuffix(mark)
            if not text:
                return  # else its shell wrote something without a line end before
        line = HostLine(host, text, is_error)
        if line.is_event:
            self._stage = Stage.RUNNING
        yield line

    def _mark(self, text: str) -> None:
        if text == PLACED:
            self._stage = max(self._stage, Stage.PLACED)
        elif self._stage is Stage.STARTED:
            self._stage = Stage.REACHED
            self._connector = self.probe.children()
        else:
            self._end(Ending.LOST)

    def act(self, stops: int) -> None:
        """Send what may be sent, and end what has to end."""
        now = time.monotonic()
        if stops > self._stops:
            self._stops = stops
            self._ending = self._ending or Ending.STOPPED
            self.probe.close_stdin()
            # Without a lifeline, or a second time: at once.
            waits = self._command.archive is not None and stops == 1
            self._end_by = now + FINISH_S if waits else now
        if self._end_by is not None:
            if now >= self._end_by:
                self.probe.begin_end()
            return
        if self._command.marks and self._stage is Stage.STARTED and now > self._reach_by:
            self._end(Ending.LATE)
        elif self._command.reconnects and self._has_lost(now):
            self._end(Ending.LOST)
        elif self._may_send and self._command.archive is not None:
            self._send(now)

    def _has_lost(self, now: float) -> bool:
        """Return whether the program that was connected has ended, and this one goes on."""
        if not self._connector or self._connector & self.probe.children():
            self._lost_at = None
            return False
        self._lost_at = self._lost_at or now
        return now - self._lost_at > LOST_S

    def _send(self, now: float) -> None:
        if not len(self._unsent) and now - self._beat_at >= HEARTBEAT_S:
            self._unsent = memoryview(b"\n")
        while len(self._unsent) and (sent := self.probe.feed(self._unsent)):
            self._unsent = self._unsent[sent:]
            self._beat_at = now

    def _end(self, ending: Ending) -> None:
        self._ending = ending
        self._end_by = time.monotonic()
        self.probe.close_stdin()
        self.probe.begin_end()

    def close(self) -> HostEnded:
        """Wait for its end in bounded time, and return it."""
        gone = self._gone or self.probe.end()
        self.probe.close()
        self._log.close()
        ending = self._ending or (Ending.SIGNALLED if gone["signal"] else Ending.EXITED)
        return HostEnded(self._command, self._stage, ending, gone["code"], tuple(self._tail))


def _find_program(name: str, path: str | None) -> str:
    """Return the absolute path of a program; raises Problem for one that is not on PATH."""
    if found := shutil.which(name, path=path):
        return str(Path(found).absolute())
    raise Problem(f"`{name}` is not installed on this machine, or not on PATH", code=ExitCode.USAGE)
