"""The request of this run, for checks to read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tpustarter.probe.slice.messages import ArrivalFacts


@dataclass(frozen=True)
class Target:
    """The platform and devices that a run expects, planned before any framework was started."""

    platform: str = "cpu"
    """`tpu`, `gpu` or `cpu`: the required default backend of JAX."""
    devices: int | None = None
    """Number of devices that this process should see; None if unknown."""
    generation: str | None = None
    """The TPU generation's name in `generations.py`; None without a TPU or if unknown."""
    virtual: bool = False
    """True if the devices are virtual CPU devices."""
    root: Path = Path("/")
    """Root of the machine's file system, or a folder for a test's fake machine."""
    minutes: float | None = None
    """Duration of each soak check in minutes; None if not set."""
    hosts: int = 1
    """Number of hosts in this run."""
    members: tuple[ArrivalFacts, ...] = ()
    """On host 0 of a run on several hosts: the facts of each host that has arrived."""
    uid: int | None = None
    """The user whose permissions are judged; None for this process's own."""


_current = Target()


def target() -> Target:
    """Return the target of the current run."""
    return _current


def set_target(new_target: Target) -> None:
    """Set the target of the current run; called by the child and by tests."""
    global _current  # noqa: PLW0603  a check takes no arguments
    _current = new_target
