"""A request for a self-check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckRequest:
    """The user's request for a self-check, from the command line or the app."""

    ids: tuple[str, ...] = ()
    level: str = "quick"
    framework: str | None = None
    python: str | None = None
    devices: int | None = None
    this_host: bool = False
    all_hosts: bool = False
    """True to run on every host of the slice."""
    require: str | None = None
    isolate: bool = False
    fresh: bool = False
    """True to compile every program, and to load none that an earlier run stored."""
    minutes: float = 10.0
    """Duration of each soak check in minutes."""
    fail_on_warn: bool = False
