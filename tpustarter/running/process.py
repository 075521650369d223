"""A supervised process: its start, commands, events and end. It never waits indefinitely.

A single `select` waits for the process's events, output and end, and for calls of `interrupt`. So
there are no threads, and a front end may stop a run from any thread or signal handler.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeAlias, TypedDict, TypeGuard

from tpustarter.core import locations
from tpustarter.core.json_values import is_object
from tpustarter.core.redact import drop_incomplete_line
from tpustarter.machine.machine import cut_text
from tpustarter.probe.events import ProcessEnd
from tpustarter.probe.supervisor import FED, KILL_WAIT_S, STAYS, TERM_GRACE_S

if TYPE_CHECKING:
    from tpustarter.probe.child import Command, ProbeEvent
    from tpustarter.probe.events import ChildEndedEvent

END_WAIT_S = TERM_GRACE_S + KILL_WAIT_S + 1.0
"""Seconds to wait for a supervisor that was asked to end."""
SEND_S = 10.0
"""Seconds to wait for a child to read a command that is too large for its pipe."""
SILENT_WAIT_S = 2.0
"""Seconds to wait for a supervisor that never reported its start."""
FINISH_WAIT_S = 10.0
"""Seconds for a child without further commands to close its device and end."""
LOG_HEAD_BYTES = 512 * 1024
"""Bytes kept from the beginning of the output."""
RECENT_BYTES = 64 * 1024
PIPE_BYTES = 65536
"""Bytes that a pipe holds on Linux; after as many, all that preceded an event has been read."""
DESCRIPTORS = 12
"""Open files needed per process: pipes to its supervisor, selectors and its log."""
FREE_DESCRIPTORS = 100
MAX_LINE_BYTES = 1024 * 1024

_OURS = ("gone", "interrupted", "output")
"""Events created by this module, which never come through the pipe."""


class ProbeGoneEvent(ProcessEnd):
    """The last event: the process and its supervisor are gone."""

    event: Literal["gone"]
    exit: int | None
    """The supervisor's exit code; negative for a signal, None if it could not be ended."""


class InterruptedEvent(TypedDict):
    """`interrupt` was called."""

    event: Literal["interrupted"]


OutputName = Literal["stdout", "stderr"]


class OutputEvent(TypedDict):
    """Output of a process that was created with `stream`."""

    event: Literal["output"]
    name: OutputName
    data: bytes


class GarbageEvent(TypedDict):
    """Something on the pipe that is not an event."""

    event: Literal["garbage"]
    text: str


ProcessEvent: TypeAlias = (
    "ProbeEvent | ProbeGoneEvent | InterruptedEvent | OutputEvent | GarbageEvent"
)
"""An event of `Probe.read`, distinguished by `event`. Only this module's own are certain to have
their fields; a reader of the others takes a missing or mistyped one for a fault of the process."""


class CappedLog:
    """The raw output of a process, limited in size: its beginning and its end."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        locations.chown_to_caller(path)
        self._recent = bytearray()
        self.size = 0
        """Total bytes written."""
        self._whole_lines = 0
        """Bytes of the file up to the end of its last complete line."""

    def write(self, data: bytes) -> None:
        """Append output; beyond the limit only the last part is kept."""
        room = LOG_HEAD_BYTES - self.size
        if room > 0:
            with contextlib.suppress(OSError):  # a full disk must not end the run
                self._file.write(data[:room])
            if line_end := data.rfind(b"\n", 0, room) + 1:
                self._whole_lines = self.size + line_end
        self.size += len(data)
        self._recent += data
        del self._recent[:-RECENT_BYTES]

    def read_since(self, position: int) -> str:
        """Return the output after `position` as text, or its last lines if it is too long."""
        length = min(self.size - position, len(self._recent))
        text = bytes(self._recent[len(self._recent) - length :]).decode("utf-8", "replace")
        return text if length == self.size - position else drop_incomplete_line(text)

    def close(self) -> None:
        """Append the last lines to the first, noting the number of bytes left out between them.

        Partial lines are left out of both, because part of a secret is not recognised as one.
        """
        with contextlib.suppress(OSError):
            if self.size > LOG_HEAD_BYTES + len(self._recent):
                last = self.read_since(0).encode()
                left_out = self.size - self._whole_lines - len(last)
                self._file.truncate(self._whole_lines)
                self._file.seek(self._whole_lines)
                self._file.write(f"\n[{left_out} bytes left out]\n".encode() + last)
            elif self.size > LOG_HEAD_BYTES:
                self._file.write(self._recent[-(self.size - LOG_HEAD_BYTES) :])
        self._file.close()


class Probe:
    """The probe in one interpreter: its supervisor, and the descriptors connected to it."""

    def __init__(
        self,
        python: Path,
        archive: Path,
        log: CappedLog,
        *,
        env: Mapping[str, str],
        drop: tuple[int, int] | None = None,
        lease: int | None = None,
        command: Sequence[str] = (),
        stays: bool = False,
        stream: bool = False,
        fed: bool = False,
    ) -> None:
        """Start it; the command's stdin is what `feed` writes if `fed` is true, otherwise empty."""
        control_end, self._control = os.pipe()
        self._events, events_end = os.pipe()
        self._wake, self._waker = os.pipe()
        words = ["supervise", f"{control_end}{FED * fed}", str(events_end), "-"]
        if drop or stays:
            words[-1] = f"{drop[0]}:{drop[1]}" if drop else STAYS
        words += command  # instead of the probe's own child
        inherited = [control_end, events_end, *([lease] if lease is not None else [])]
        try:
            self._process = subprocess.Popen(
                [str(python), "-I", "-S", str(archive), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if stream else subprocess.STDOUT,
                env=dict(env),
                pass_fds=inherited,
                start_new_session=True,
            )
        except BaseException:
            for descriptor in (self._control, self._events, self._wake, self._waker):
                os.close(descriptor)
            raise
        finally:
            os.close(control_end)
            os.close(events_end)
        self._log = log
        self._stream = stream
        self._control_closed = False
        self._child: int | None = None
        self._buffer = b""
        self._queue: deque[ProcessEvent] = deque()
        self._ended: ChildEndedEvent | None = None
        self._gone: ProbeGoneEvent | None = None
        self._selector = selectors.DefaultSelector()
        self._watch()

    def _watch(self) -> None:
        outputs = [pipe.fileno() for pipe in self._outputs().values()]
        for descriptor in (self._control, self._events, self._wake, self._waker, *outputs):
            os.set_blocking(descriptor, False)
        self._selector.register(self._events, selectors.EVENT_READ, "events")
        for output in outputs:
            self._selector.register(output, selectors.EVENT_READ, "output")
        self._selector.register(self._wake, selectors.EVENT_READ, "wake")
        self._pidfd: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # Linux 5.3 and newer
            self._pidfd = os.pidfd_open(self._process.pid)
            self._selector.register(self._pidfd, selectors.EVENT_READ, "end")

    def _outputs(self) -> dict[OutputName, IO[bytes]]:
        pipes: dict[OutputName, IO[bytes] | None] = {
            "stdout": self._process.stdout,
            "stderr": self._process.stderr,
        }
        return {name: pipe for name, pipe in pipes.items() if pipe is not None}

    @property
    def pid(self) -> int:
        """The child's process id, or its supervisor's until the child is known."""
        return self._child or self._process.pid

    def children(self) -> frozenset[int]:
        """Return the direct child processes of a command; on Linux only."""
        pid = self._child
        with contextlib.suppress(OSError, ValueError):
            text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
            return frozenset(int(word) for word in text.split())
        return frozenset()

    def send(self, command: Command) -> None:
        """Send the child a command; if the child is gone, `read` reports that."""
        data = memoryview(json.dumps(command).encode() + b"\n")
        deadline = time.monotonic() + SEND_S
        with contextlib.suppress(BrokenPipeError, BlockingIOError):
            while data and (left_s := deadline - time.monotonic()) > 0:
                select.select([], [self._control], [], left_s)
                data = data[os.write(self._control, data) :]

    def feed(self, data: memoryview) -> int:
        """Write to the command's stdin without blocking; return the number of bytes written.

        If the command has closed its stdin or ended, all bytes count as written.
        """
        try:
            return os.write(self._control, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            return len(data)

    def close_stdin(self) -> None:
        """Close the command's stdin; later calls do nothing."""
        if not self._control_closed:
            self._control_closed = True
            os.close(self._control)

    def begin_end(self) -> None:
        """Ask the supervisor to end the process, without waiting as `end` does."""
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()

    def fileno(self) -> int:
        """Return a descriptor for a selector, readable when `read` has an event."""
        return self._selector.fileno()

    def interrupt(self) -> None:
        """Make `read` return an `interrupted` event; safe in any thread and signal handler."""
        with contextlib.suppress(OSError):
            os.write(self._waker, b"!")

    def ask_to_end(self) -> None:
        """Send the child SIGINT, as Ctrl-C does, which only interrupts Python code."""
        if self._child and self._gone is None and self._ended is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._child, signal.SIGINT)

    def read(self, timeout_s: float) -> ProcessEvent | None:
        """Return the next event, or None if none arrives in time.

        A probe created with `stream` also returns its output, in order with its events. The last
        event is a `ProbeGoneEvent`, which is then returned by every call.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            if self._queue:
                return self._queue.popleft()
            if self._gone:
                return self._gone
            left_s = deadline - time.monotonic()
            # Without a pidfd, the end of a process is detected only by polling.
            ready = self._selector.select(max(0, left_s if self._pidfd else min(left_s, 0.1)))
            kinds = {str(key.data) for key, _ in ready}
            if "wake" in kinds:
                os.read(self._wake, 512)
                return {"event": "interrupted"}
            self._drain(kinds)
            if self._process.poll() is not None:
                self._finish()
            if left_s <= 0 and not self._queue and not self._gone:
                return None  # the pipes were checked once, so earlier events were not missed

    def _drain(self, kinds: set[str]) -> None:
        # Events are read first but returned last, so output written before an event precedes it.
        events = list(self._chunks(self._events)) if "events" in kinds else []
        if kinds & {"output", "events"}:
            self._drain_output()
        for data in events:
            self._parse(data)

    def _drain_output(self) -> None:
        for name, pipe in self._outputs().items():
            size = 0
            for data in self._chunks(pipe.fileno()):
                self._log.write(data)
                if self._stream:
                    self._queue.append({"event": "output", "name": name, "data": data})
                if (size := size + len(data)) >= PIPE_BYTES:
                    break  # a flood of output must not delay the events

    def _chunks(self, descriptor: int):
        while True:
            try:
                data = os.read(descriptor, 65536)
            except BlockingIOError:
                return
            if not data:
                with contextlib.suppress(KeyError):
                    self._selector.unregister(descriptor)
                return
            yield data

    def _parse(self, data: bytes) -> None:
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in filter(None, lines):
            event = parse_event(line)
            # The supervisor sends this before the child exists. A later one is forged, and the
            # processes with its number must not be killed.
            if event["event"] == "started" and self._child is None:
                self._child = event["pid"]
            elif event["event"] == "ended":
                self._ended = event
            else:
                self._queue.append(event)
        if len(self._buffer) > MAX_LINE_BYTES:
            self._queue.append({"event": "garbage", "text": "a line longer than 1 MiB"})
            self._buffer = b""

    def _finish(self) -> None:
        self._drain({"output", "events"})
        if self._ended is None:  # the supervisor itself was killed
            self._kill()
        ended: ProcessEnd = self._ended or {"code": None, "signal": None, "left": []}
        self._gone = _make_gone(ended, self._process.returncode)

    def _kill(self) -> None:
        for pid in (self._child, self._process.pid if self._process.poll() is None else None):
            if pid is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGKILL)

    def _survivors(self) -> list[int]:
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            reaped = self._process.poll() is not None
            if reaped and (self._child is None or not _exists(self._child)):
                return []
            time.sleep(0.01)
        return [pid for pid in (self._child, self._process.pid) if pid and _exists(pid)]

    def end(self) -> ProbeGoneEvent:
        """End the process, killing it after a timeout; return the `gone` event."""
        self.begin_end()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # The supervisor may have been stopped by a signal.
            os.kill(self._process.pid, signal.SIGCONT)
        began = time.monotonic()
        while self._gone is None:
            # A process that never reported its start is not a supervisor, and has nothing to end.
            limit_s = END_WAIT_S if self._child else SILENT_WAIT_S
            left_s = began + limit_s - time.monotonic()
            if left_s <= 0:
                break
            self.read(left_s)
        if self._gone is None:
            self._kill()
            pids = self._survivors()
            self._gone = _make_gone({"code": None, "signal": None, "left": pids}, None)
        return self._gone

    def close(self) -> ProbeGoneEvent:
        """Let the process finish by itself, with a timeout, and close every descriptor."""
        self.close_stdin()  # no further commands, so the child leaves its loop
        deadline = time.monotonic() + FINISH_WAIT_S
        while self._gone is None and time.monotonic() < deadline:
            event = self.read(deadline - time.monotonic())
            if event and event["event"] == "interrupted":
                break
        gone = self.end()
        self._selector.close()
        for descriptor in (self._events, self._wake, self._waker, self._pidfd):
            if descriptor is not None:
                os.close(descriptor)
        for pipe in self._outputs().values():
            pipe.close()
        return gone


def _make_gone(end: ProcessEnd, exit_code: int | None) -> ProbeGoneEvent:
    return {**end, "event": "gone", "exit": exit_code}


def parse_event(line: bytes) -> ProbeEvent | GarbageEvent:
    """Return the event in a line from the pipe, which may hold anything."""
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        event = json.loads(line)
        if _is_event(event):
            return event
    return {"event": "garbage", "text": cut_text(line.decode("utf-8", "replace"), 2000)}


def _is_event(event: object) -> TypeGuard[ProbeEvent]:
    if not is_object(event):
        return False
    name = event["event"]
    if name == "started":
        return type(pid := event["pid"]) is int and pid > 1
    if name == "ended":
        code, number, left = event["code"], event["signal"], event["left"]
        is_sound = all(value is None or type(value) is int for value in (code, number))
        return is_sound and isinstance(left, list)
    return isinstance(name, str) and name not in _OURS


def raise_open_file_limit(processes: int) -> None:
    """Raise this program's limit on open files, so that a number of probes can be started."""
    import resource  # not on every platform

    number = FREE_DESCRIPTORS + DESCRIPTORS * processes
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def signal_name(number: int) -> str:
    """Return the name of a signal, such as `SIGSEGV` for 11, or `signal 35` if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _exists(pid: int) -> bool:
    # A process that has ended but was not reaped does not count.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return sys.platform != "linux"
    return stat.rpartition(")")[2].split()[:1] not in (["Z"], ["X"])
