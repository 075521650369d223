"""The call of a tool: its command in a supervised process that ends with the call.

The supervisor ends the command, and the command its own checks, if the call is cancelled and also
if this process dies. A command that may only read gets a copy of the state folder, made of links.
No program changes a file of the state folder in place: whoever writes one replaces it, and so
replaces the link. Only locks are opened for writing, and they are not linked.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from tpustarter.agents import tool_answer
from tpustarter.agents.answer_shape import AnswerShape
from tpustarter.agents.tool_answer import WHOLE, ToolAnswer
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem, find_limit_problem
from tpustarter.core.redact import Redactor
from tpustarter.running import lease
from tpustarter.running.process import CappedLog, Probe
from tpustarter.text.invocation import VARIABLE, own_command, tpustarter_command

MOST_BYTES = 64 << 20
"""Most bytes of a document that are read."""
_MOST_ERRORS = 2000
"""Characters of a command's stderr that are kept, for an error without a document."""
_MOST_AT_ONCE = 2
_POLL_S = 1.0
"""Seconds between two looks where the system does not report the end of a process."""
_FEED_S = 0.02
"""Seconds to wait for a command that has not yet read its stdin."""


_NOT_LINKED = ("runs", lease.FILE)
"""Folders of running processes, and the lease, whose lock is shared with every other run."""


class ToolCalls:
    """The calls that are running; `end_all` ends them."""

    def __init__(self, archive: Path, refresh: Callable[[], None]) -> None:
        """Prepare for calls.

        Args:
            archive: The probe archive, whose supervisor runs their commands.
            refresh: Called before each command.
        """
        self._archive = archive
        self._refresh = refresh
        self._running = set[Probe]()
        self._limit = anyio.Semaphore(_MOST_AT_ONCE)

    async def run(
        self, words: Sequence[str], data: bytes, shape: AnswerShape = WHOLE
    ) -> ToolAnswer:
        """Run a command of this program, and return what is wanted of what it printed."""
        try:
            async with self._limit:
                self._refresh()
                return await self._run(words, data, shape)
        except Problem as problem:
            return tool_answer.make_error(words, problem)

    def end_all(self) -> None:
        """End every command, within the time that its supervisor needs; for signal handlers."""
        for probe in self._running:
            probe.begin_end()
        for probe in [*self._running]:
            probe.end()

    async def _run(self, words: Sequence[str], data: bytes, shape: AnswerShape) -> ToolAnswer:
        descriptor, name = tempfile.mkstemp(dir=self._archive.parent, suffix=".log")
        os.close(descriptor)
        log = CappedLog(Path(name))
        probe = self._start(words, log, fed=bool(data))
        self._running.add(probe)
        try:
            return await _read(probe, words, data, shape)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_close, probe, log)
            self._running.discard(probe)
            Path(name).unlink(missing_ok=True)

    def _start(self, words: Sequence[str], log: CappedLog, *, fed: bool) -> Probe:
        try:
            return Probe(
                Path(sys.executable),
                self._archive,
                log,
                env={**os.environ, VARIABLE: tpustarter_command()},
                drop=locations.find_sudo_caller(),
                command=[*own_command(), *words],
                stream=True,
                fed=fed,
            )
        except (OSError, ValueError) as error:
            log.close()
            refused = Problem(f"the command cannot be started: {error}", code=ExitCode.USAGE)
            raise find_limit_problem(error) or refused from error


async def _read(probe: Probe, words: Sequence[str], data: bytes, shape: AnswerShape) -> ToolAnswer:
    output, errors, unread = bytearray(), bytearray(), memoryview(data)
    while True:
        if unread:
            unread = unread[probe.feed(unread) :]
            if not unread:
                probe.close_stdin()
        event = probe.read(0)
        if event is None:
            with anyio.move_on_after(_FEED_S if unread else _POLL_S):
                await anyio.wait_readable(probe.fileno())
        elif event["event"] == "output":
            (output if event["name"] == "stdout" else errors).extend(event["data"])
            del errors[:-_MOST_ERRORS]
            if len(output) > MOST_BYTES:
                raise Problem(f"the answer has more than {MOST_BYTES >> 20} MiB")
        elif event["event"] == "gone":
            text = Redactor(os.environ).redact_text(errors.decode("utf-8", "replace"))
            return tool_answer.make_answer(words, bytes(output), text, event["code"], shape)


def _close(probe: Probe, log: CappedLog) -> None:
    probe.end()
    with contextlib.suppress(OSError):
        probe.close()
    log.close()


@contextlib.contextmanager
def use_copy(copy: Path) -> Generator[None]:
    """Make this process and those that it starts use a copy as their state folder."""
    state = locations.state_folder_path()
    chosen = {
        lease.VARIABLE: str(Path(state, lease.FILE).absolute()),
        "TPUSTARTER_HOME": str(copy),
    }
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    link_new_files(copy, state)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            os.environ.update({} if value is None else {name: value})


def link_new_files(copy: Path, state: Path) -> None:
    """Link files of the state folder that its copy lacks; unreadable ones are left out."""
    for folder, folders, names in os.walk(state):
        inside = Path(folder).relative_to(state)
        folders[:] = [name for name in folders if str(inside / name) not in _NOT_LINKED]
        with contextlib.suppress(OSError):
            locations.make_folders(copy / inside)
        for name in names:
            if str(inside / name) in _NOT_LINKED or name.endswith(".lock"):
                continue
            with contextlib.suppress(OSError):  # also if the copy has the file already
                (copy / inside / name).symlink_to(Path(folder, name).absolute())
