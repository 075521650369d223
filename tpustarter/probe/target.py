"""What this run asked for, as checks may read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """The platform and the devices a run expects, worked out before any framework was started."""

    platform: str = "cpu"
    """`tpu`, `gpu` or `cpu`: what JAX's default backend must be."""
    devices: int | None = None
    """Devices this process should see; null where the machine does not say."""
    generation: str | None = None
    """The TPU generation, a name from `tpus.py`; null without a TPU or when unknown."""
    virtual: bool = False
    """True for virtual CPU devices."""
    root: Path = Path("/")
    """Where the machine's file system starts; another folder for a laid-out fake machine."""
    minutes: float | None = None
    """How long checks of the level `soak` go on; null where nothing was said."""
    uid: int | None = None
    """Whose rights are judged; null for the user this process runs as."""


_current = Target()


def target() -> Target:
    """Return what the current run asked for."""
    return _current


def set_target(new_target: Target) -> None:
    """Remember what the current run asked for; called once, by the child (and by tests)."""
    global _current  # noqa: PLW0603  a check takes no arguments
    _current = new_target
