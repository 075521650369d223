"""The request of this run, as checks may read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpustarter.probe.slice.messages import ArrivalFacts


@dataclass(frozen=True)
class Target:
    """The platform and the devices a run expects, planned before any framework was started."""

    platform: str = "cpu"
    """`tpu`, `gpu` or `cpu`: the required default backend of JAX."""
    devices: int | None = None
    """Devices this process should see; None when that is unknown."""
    generation: str | None = None
    """The TPU generation, a name from `generations.py`; None without a TPU or when unknown."""
    virtual: bool = False
    """True if they are virtual CPU devices."""
    root: Path = Path("/")
    """Root of the machine's file system; another folder for a fake machine of a test."""
    minutes: float | None = None
    """Minutes that checks of the level `soak` run; None if not set."""
    hosts: int = 1
    """Number of hosts that take part in this run."""
    members: tuple[ArrivalFacts, ...] = ()
    """On host 0 of a run on several: the facts that each host which arrived has handed in."""
    uid: int | None = None
    """The user whose rights are judged; None for the user this process runs as."""


_current = Target()


def target() -> Target:
    """Return the target of the current run."""
    return _current


def set_target(new_target: Target) -> None:
    """Set the target of the current run; called once, by the child (and by tests)."""
    global _current  # noqa: PLW0603  a check takes no arguments
    _current = new_target
