"""The commands that start a run on many hosts: their output by host, and their end."""

from __future__ import annotations

import enum
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PORT = 8476
"""Port of the coordinator where none is given; JAX's own on Cloud TPU."""
LIFELINE_S = 60
"""Seconds without a byte on its stdin after which a host ends its run."""
HEARTBEAT_S = 10.0
REACHED = "tpustarter-reached"
"""Line that a host prints first, on stdout, where the engine runs a shell line on it."""
PLACED = "tpustarter-placed"
"""Line that it prints when it has the probe, just before it starts it."""


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
    label: re.Pattern[str] | None = None
    """What a line begins with where the engine labels it; its first group is the host's number."""

    @property
    def text(self) -> str:
        """The command as a person can paste it into a shell."""
        raise NotImplementedError


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
    """This program ended it, because `stop` was called."""
    LATE = "late"
    """This program ended it, because the host was not reached in time."""
    REPEATED = "repeated"
    """This program ended it, because it began again on a host where the run had begun."""


@dataclass(frozen=True)
class HostLine:
    """A line of a host's output, without the engine's label."""

    host: int | None
    """None where it is the engine's own, or the host is not known."""
    text: str
    is_error: bool
    """Whether it came on stderr."""


@dataclass(frozen=True)
class HostEnded:
    """The end of a command."""

    command: HostCommand
    stage: Stage
    ending: Ending
    code: int | None
    """Exit code of ssh, gcloud and so on; None where it has none."""
    tail: tuple[str, ...]
    """Last lines of stderr, in the words of the programs that wrote them."""

    @property
    def host(self) -> int | None:
        """The host's number; None where the command started all of them."""
        return self.command.host


StartEvent = HostLine | HostEnded


class Started:
    """The commands of one start; `stop` ends all of them from anywhere."""

    def __init__(
        self,
        commands: Sequence[HostCommand],
        *,
        env: Mapping[str, str] | None = None,
        reach_s: float = 120.0,
    ) -> None:
        """Prepare it; nothing is started before `events` is read."""
        raise NotImplementedError

    def events(self) -> Generator[StartEvent]:
        """Yield the lines of all hosts, and the end of each command once."""
        raise NotImplementedError

    def stop(self) -> None:
        """End every command: TERM, 5 s, KILL; safe in any thread and signal handler."""
        raise NotImplementedError
