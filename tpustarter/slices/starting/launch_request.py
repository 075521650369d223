"""A run that is started on many hosts: the request, the commands, and their output."""

from __future__ import annotations

import contextlib
import enum
import hashlib
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tpustarter.core import locations
from tpustarter.slices.starting.labelled_output import LabelFormat

PORT = 8476
"""Default port of the coordinator, which is JAX's own on Cloud TPU."""
LIFELINE_S = 60
"""Seconds without a byte on its stdin after which a host ends its run."""
HEARTBEAT_S = 10
REACHED = "tpustarter-reached"
"""First stdout line of a host on which the engine runs a shell command."""
PLACED = "tpustarter-placed"
"""Line that a host prints once it has the probe, just before starting it."""
ENDED = "tpustarter-ended "
"""Prefix of a host's last line, with its exit code, if one command starts all hosts."""
EVENT = '{"event":'
"""Prefix of a line that is an event of the probe."""
KEPT_S = 7 * 86400
"""Seconds after which `keep_archive` deletes other zips of the same name."""
NOT_CONNECTED = 255
"""Exit code of ssh for a failed or lost connection; the probe never exits with it."""


def keep_archive(name: str, data: bytes) -> Path:
    """Write the hosts' zip to the state folder, where a pasted command finds it for a week.

    Its name depends on its content, so what another process prepares is never started instead.
    """
    folder = locations.make_state_folder()
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:8]}.pyz"
    with locations.convert_write_errors(path):
        locations.replace_file(path, data, 0o644)
    for other in folder.glob(f"{name}-*.pyz"):
        with contextlib.suppress(OSError):  # another process may delete it too
            if other.stat().st_mtime < time.time() - KEPT_S:
                other.unlink()
    return path


@dataclass(frozen=True, kw_only=True)
class LaunchRequest:
    """A run to be started on many hosts."""

    archive: Path
    """The probe's zip, on this machine."""
    python: str = "python3"
    """Python under test, as typed on the hosts."""
    hosts: tuple[str, ...] = ()
    """Names of the hosts, if the engine does not know them."""
    count: int | None = None
    """Number of hosts, if the engine needs it."""
    port: int = PORT
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """The engine's own options, such as the zone."""


@dataclass(frozen=True, kw_only=True)
class HostCommand:
    """A command that starts the run on one host, or on all of them."""

    words: tuple[str, ...]
    host: int | None = None
    """The host's number; None if the command starts all hosts."""
    name: str = ""
    """The host's name for display."""
    archive: Path | None = None
    """File that its stdin begins with, before the lifeline; None for a command without stdin."""
    marks: bool = False
    """True if the host prints `REACHED` and `PLACED`."""
    reconnects: bool = False
    """True if its program starts another one that connects, and restarts that one when the
    connection is lost."""
    leads: bool = False
    """True if the others wait until its host is reached; it may create a key that they need."""
    labels: LabelFormat | None = None
    """The labels in the output of a command that starts all hosts."""

    @property
    def text(self) -> str:
        """The command in a form that can be pasted into a shell."""
        command = " ".join(quote_word(word) for word in self.words)
        if self.archive is None:
            return command
        beats = f"while sleep {HEARTBEAT_S}; do echo; done"
        return f"{{ cat {quote_word(str(self.archive))}; {beats}; }} | {command}"


def quote_word(word: str) -> str:
    """Quote a word for a POSIX shell, with double quotes if it contains single quotes."""
    if "'" not in word or "!" in word:
        return shlex.quote(word)
    return '"' + re.sub(r'([\\"$`])', r"\\\1", word) + '"'


def format_script(commands: Sequence[HostCommand]) -> str:
    """Return all commands in a form that can be pasted into a shell, one per line."""
    if len(commands) == 1:
        return commands[0].text
    return "".join(f"{command.text} &\n" for command in commands) + "wait"


class HostStage(enum.IntEnum):
    """The last stage that a host reached."""

    STARTED = 0
    """The command was started; without marks, nothing more is known until the first event."""
    REACHED = 1
    """A shell runs on the host."""
    PLACED = 2
    """The host has the probe, and Python is being started."""
    RUNNING = 3
    """The probe has sent its first event."""


class EndReason(enum.Enum):
    """The reason why a command ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    """A signal ended the local command."""
    STOPPED = "stopped"
    """`stop` was called."""
    LATE = "late"
    """This program ended it, because the host was not reached in time."""
    LOST = "lost"
    """This program ended it, because its connection was lost and it was about to reconnect; the
    probe cannot be sent again."""
    NOT_STARTED = "not started"
    """This machine could not start it."""


@dataclass(frozen=True)
class HostLine:
    """A line of a host's output, without the engine's label."""

    host: int | None
    """None for a line of the engine itself, or if the host is unknown."""
    text: str
    is_error: bool
    """True if it came from stderr."""

    @property
    def is_event(self) -> bool:
        """True if it is an event of the probe rather than log output."""
        return not self.is_error and self.text.startswith(EVENT)


@dataclass(frozen=True)
class HostEnded:
    """The end of a command, or of one host of a command that labels its hosts."""

    command: HostCommand
    stage: HostStage
    ending: EndReason
    code: int | None
    """Exit code of ssh, gcloud and so on, or the one that the host printed; None if there is none.
    After a stop, None means that the host may still be ending."""
    tail: tuple[str, ...]
    """Last lines of stderr, as the programs wrote them."""
    labelled: int | None = None
    """Number of the host in the command's labels."""

    @property
    def host(self) -> int | None:
        """The host's number, or None for the end of a command that started all hosts."""
        return self.command.host if self.labelled is None else self.labelled

    @property
    def is_unreached(self) -> bool:
        """True if no shell ran on the host, as far as the engine reports."""
        return self.command.marks and self.stage is HostStage.STARTED

    @property
    def is_lost(self) -> bool:
        """True if the connection to the host was lost."""
        was_there = self.command.marks and not self.is_unreached
        ended = self.ending is EndReason.EXITED and self.code == NOT_CONNECTED
        return was_there and (ended or self.ending is EndReason.LOST)

    @property
    def what(self) -> str:
        """A description of the end, to follow the host's name."""
        code = "" if self.code is None else f" (exit code {self.code})"
        if self.ending is EndReason.STOPPED:
            return f"was stopped{code}" if code else "was stopped, and may still be ending"
        if self.ending in _ENDINGS:
            return _ENDINGS[self.ending]
        if self.is_lost:
            return f"was lost: its connection ended{code}"
        return f"{_STAGES[self.stage] if self.command.marks else 'ended'}{code}"


_ENDINGS = {
    EndReason.NOT_STARTED: "could not be started from this machine",
    EndReason.LATE: "was not reached in time",
    EndReason.LOST: "was lost: its connection ended",
    EndReason.SIGNALLED: "is no longer connected: the command here was killed",
}
_STAGES = {
    HostStage.STARTED: "was not reached",
    HostStage.REACHED: "could not store the probe",
    HostStage.PLACED: "could not run the probe",
    HostStage.RUNNING: "ended",
}

StartEvent = HostLine | HostEnded
