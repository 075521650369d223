"""Starts the commands of a run on many hosts, watches them, and ends them.

One thread waits for all of them at once. Output is passed on unchanged; the code that shows it
escapes and redacts it.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shutil
import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tpustarter.core.problem import ExitCode, Problem, find_limit_problem
from tpustarter.running import probe_archive
from tpustarter.running.process import raise_open_file_limit
from tpustarter.slices.starting.host_process import HostProcess
from tpustarter.slices.starting.launch_request import (
    EndReason,
    HostCommand,
    HostEnded,
    HostStage,
    StartEvent,
)

CONNECTING = 8
"""Hosts that may be connecting at a time; gcloud takes two seconds of CPU time for each."""
REACH_S = 120.0
"""Longest wait for a host that marks its stages. gcloud retries ssh ten times, so that a key that
it has just added has time to arrive."""
LOOK_S = 1.0
SEND_S = 0.01
"""Seconds between attempts to write to a full stdin, 64 KiB each."""


class RunningCommands:
    """The commands of one run; `stop` ends all of them from anywhere."""

    def __init__(
        self,
        commands: Sequence[HostCommand],
        folder: Path,
        *,
        env: Mapping[str, str] | None = None,
        reach_s: float = REACH_S,
    ) -> None:
        """Prepare the commands; nothing is started before `events` is read.

        Args:
            commands: At least one command, as built by an engine.
            folder: The run's folder, for one log per command.
            env: Environment variables of the commands; None for those of this program.
            reach_s: Seconds after which a host that was not reached is given up.

        Raises:
            Problem: A program is not on PATH.
        """
        self._env = dict(os.environ if env is None else env)
        path = self._env.get("PATH")
        programs = {word: _find_program(word, path) for word in {one.words[0] for one in commands}}
        self._waiting = deque(
            replace(one, words=(programs[one.words[0]], *one.words[1:])) for one in commands
        )
        self._folder = folder
        self._reach_s = reach_s
        self._running: dict[int, HostProcess] = {}
        """The running commands, keyed by the descriptor that is readable when there is output."""
        self._stops = 0
        self._wake, self._waker = os.pipe()
        for descriptor in (self._wake, self._waker):
            os.set_blocking(descriptor, False)

    def stop(self) -> None:
        """End every host; safe in any thread and signal handler.

        The lifelines end first, so that the hosts end by themselves and report it. After `FINISH_S`
        seconds, or at the next call, the remaining local processes are ended: TERM, 5 s, KILL.
        """
        self._stops += 1
        with contextlib.suppress(OSError):
            os.write(self._waker, b"!")

    def tell(self, host: int, line: bytes) -> None:
        """Write a line to a host's stdin; if one command starts all hosts, each of them gets it."""
        for running in self._running.values():
            if running.host in (host, None):
                running.tell(line)

    def events(self) -> Generator[StartEvent | None]:
        """Yield the lines of all hosts, and the end of each command once.

        A command whose hosts are labelled and marked yields the end of each host as it happens, and
        its own. After about a second without either, None is yielded, so that the caller can check
        its own deadlines.

        This also sends the heartbeats: a host ends if its events are not read for `LIFELINE_S`
        seconds.
        """
        raise_open_file_limit(len(self._waiting))
        turn_at = time.monotonic() + LOOK_S
        probe = probe_archive.build_probe_archive(self._folder / "starting.pyz")
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            try:
                while self._waiting or self._running:
                    yield from self._start_next(probe, selector)
                    ready = {key.fd for key, _ in selector.select(self._patience_s())}
                    if self._wake in ready:
                        os.read(self._wake, 512)
                    if ready:
                        turn_at = time.monotonic() + LOOK_S
                    elif time.monotonic() >= turn_at:  # select() returns more often while sending
                        turn_at = time.monotonic() + LOOK_S
                        yield None
                    for descriptor, running in list(self._running.items()):
                        yield from running.read()
                        running.act(self._stops)
                        if running.ended:
                            selector.unregister(descriptor)
                            del self._running[descriptor]
                            yield from running.close()
            finally:
                self._end_all()

    def _start_next(
        self, probe: Path, selector: selectors.BaseSelector
    ) -> Generator[StartEvent, None, None]:
        while self._waiting and (self._stops or self._has_turn()):
            command = self._waiting.popleft()
            if self._stops:
                yield HostEnded(command, HostStage.STARTED, EndReason.STOPPED, None, ())
                continue
            try:
                running = HostProcess(command, probe, self._folder, self._env, self._reach_s)
            except (OSError, Problem) as error:
                limit = find_limit_problem(error)
                what = limit.full_text if limit else str(getattr(error, "full_text", error))
                yield HostEnded(command, HostStage.STARTED, EndReason.NOT_STARTED, None, (what,))
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
        """End the commands that are still running, all at the same time."""
        for running in self._running.values():
            running.probe.begin_end()
        for running in self._running.values():
            for _ in running.close():
                pass
        self._running.clear()
        self._waiting.clear()
        pipe, self._waker = (self._wake, self._waker), -1  # so stop() writes to no reused file
        for descriptor in pipe:
            os.close(descriptor)


def _find_program(name: str, path: str | None) -> str:
    """Return the absolute path of a program.

    Raises:
        Problem: The program is not on PATH.
    """
    if found := shutil.which(name, path=path):
        return str(Path(found).absolute())
    raise Problem(f"`{name}` is not installed on this machine, or not on PATH", code=ExitCode.USAGE)
